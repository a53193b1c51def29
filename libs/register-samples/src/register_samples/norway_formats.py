"""Other formats of the Norwegian register's files: its tables, and its JSON of 2022."""

import csv
from collections.abc import Iterable
from typing import IO, Any

from register_samples.registers import NORWAY
from register_samples.templates import Document

#: Names of columns and members, by year and table.
_TABLES: dict[str, str] = NORWAY.habits["tables"]
_MEMBERS: dict[str, str] = NORWAY.habits["members"]
#: Columns whose names differ from those of the members by more than upper and lower case.
_OTHERWISE = {"registreringsdatoienhetsregisteret": "registreringsdatoenhetsregisteret"}


def write_table(file: IO[str], table: str, found: Iterable[Document]) -> None:
    """Writes a CSV file with the columns of a table, such as `entities_2026`."""
    columns = _TABLES[table].split()
    rows = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
    rows.writerow(columns)
    rows.writerows([_cell(document, column) for column in columns] for document in found)


def _cell(document: Document, column: str) -> str:
    """Returns a member as text: lists in one cell, and of remarks only whether there are any."""
    value: Any = document
    for step in column.lower().split("."):
        members = {name.lower(): each for name, each in (value or {}).items()}
        value = members.get(_OTHERWISE.get(step, step))
    if column == "paategninger":
        value = bool(value)
    match value:
        case bool():
            return str(value).lower()
        case list():
            return ("/n" if column.endswith(".adresse") else " ").join(value)
        case _:
            return "" if value is None else str(value)


def as_of_2022(document: Document) -> Document:
    """Returns an entity or a unit as the JSON files of 2022 had it."""
    kind = {"Enhet": "entities_2022", "Underenhet": "units_2022"}[document["respons_klasse"]]
    members = _MEMBERS[kind].split()
    older = {name: document[name] for name in members if name in document}
    # Nothing was withheld, and the industry of a unit that serves its own group was marked.
    older.setdefault("antallAnsatte", 3 if document["harRegistrertAntallAnsatte"] else 0)
    if auxiliary := document.get("hjelpeenhetskode"):
        older["naeringskode2"] = {**auxiliary, "hjelpeenhetskode": True}
    return older
