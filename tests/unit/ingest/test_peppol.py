"""Parsing of business cards of the Peppol Directory."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from common.contracts.company import EinvoicingEntry
from ingest.records.records import ParticipantRecord, Rejected
from ingest.records.source import read
from ingest.registers.peppol.business_cards import holder_on_card
from ingest.registers.peppol.sync import PEPPOL
from tests.builders.companies import TODAY, parsed
from tests.builders.registers import a_business_card

HEADER = (
    "Participant ID;Names (per-row);Country code;Geo info;Identifier schemes;Identifier values;"
    "Websites;Contact type;Contact name;Contact phone;Contact email;Additional info;"
    "Registration date;Document types\n"
)


def record(pid: str = "iso6523-actorid-upis::0192:310345679", **entity: Any) -> ParticipantRecord:
    read_card = parsed(PEPPOL, a_business_card(pid, **entity))
    assert isinstance(read_card, ParticipantRecord)
    return read_card


def identifiers(**given: str) -> list[dict[str, str]]:
    """Of schemes such as `DK_CVR`."""
    return [{"scheme": scheme.replace("_", ":"), "value": v} for scheme, v in given.items()]


GLN, NORWEGIAN = "0088:5790000000005", "0192:310345679"


@pytest.mark.parametrize(
    "scheme,value,country,holder",
    [
        # The country of the card decides.
        ("OrgNr", "12345674", "DK", "dk:12345674"),
        ("OrgNr", "DK12345674", "dk", "dk:12345674"),
        ("orgnr.", "12 34 56 74", "DK", "dk:12345674"),
        ("OrgNr", "310345679", "NO", "no:310345679"),
        ("OrgNr", "310345679", "DK", None),
        ("OrgNr", "12345674", "NO", None),
        ("OrgNr", "5560360793", "SE", None),
        ("OrgNr", "12345674", "SE", None),
        ("VATNumber", "12345674", "DK", "dk:12345674"),
        ("VATNumber", "310345679MVA", "NO", "no:310345679"),
        ("organisasjonsnummer", "310 345 679", "NO", "no:310345679"),
        ("Organisationsnummer", "12345674", "DK", "dk:12345674"),
        # The name says it, whatever the card.
        ("cvr-nr", "12345674", "DK", "dk:12345674"),
        ("CVR-nr.", "12345674", "SE", "dk:12345674"),
        ("CVR", "DK12345674", None, "dk:12345674"),
        ("DK:CVR", "DK12345674", "NO", "dk:12345674"),
        ("DK:P", "1012345670", "DK", "dk:1012345670"),
        ("P-nummer", "1012345670", "DK", "dk:1012345670"),
        ("NO:ORG", "310345679", "DK", "no:310345679"),
        ("NO:ORGNR", "310 345 679", None, "no:310345679"),
        ("SE:ORGNR", "12345674", "DK", None),
        # The letters of the value say it.
        ("VAT", "NO310345679MVA", None, "no:310345679"),
        ("VAT", "DK12345674", "SE", "dk:12345674"),
        ("OrgNr", "NO310345679", "DK", "no:310345679"),
        ("VAT", "SE123", None, None),
        # Nothing does, and the digits decide.
        ("OrgNr", "12345674", None, "dk:12345674"),
        ("OrgNr", "310345679", "", "no:310345679"),
        # Codes, and the code in the value.
        ("0184", "12345674", "NO", "dk:12345674"),
        ("0192", "0192:310345679", "DK", "no:310345679"),
        ("iso6523-actorid-upis", "0096:1012345670", "DK", "dk:1012345670"),
        ("GLN", "5790000000005", "DK", None),
        ("0237", "0101700000", "DK", None),
        ("", "", None, None),
    ],
)
def test_a_holder_is_read_from_every_spelling_of_its_identifier(
    scheme: str, value: str, country: str | None, holder: str | None
) -> None:
    assert holder_on_card(scheme, value, country) == holder


Export = Callable[[str], list[Any]]


@pytest.fixture(name="export")
def _export(tmp_path: Path) -> Export:
    def read_export(rows: str) -> list[Any]:
        path = tmp_path / "business-cards.csv"
        path.write_bytes((HEADER + rows).encode("iso-8859-1"))
        found = read(path, PEPPOL, TODAY)
        return [one.reason if isinstance(one, Rejected) else one for one in found]

    return read_export


def test_a_csv_row_gives_the_same_record_as_the_card(export: Export) -> None:
    row = (
        f'"iso6523-actorid-upis::{GLN}";"Prøven";"DK";"";"DK:CVR\nGTIN";'
        '"DK12345674\n1";"";"";"";"";"";"Ved åen";"2020-01-01";'
        '"busdox-docid-qns::urn:invoice::2.1\nbusdox-docid-qns::urn:creditnote::2.1"\n'
    )

    held = identifiers(DK_CVR="DK12345674")
    card = record(GLN, countryCode="DK", identifiers=held, regdate="2020-01-01")
    assert export(row) == [card]


def a_row(
    pid: str, country: str, scheme: str = "", value: str = "", *, day: str = "", kinds: str = ""
) -> str:
    return ";".join([pid, "A", country, "", scheme, value, *[""] * 6, day, kinds]) + "\n"


def test_rows_of_one_participant_are_joined_into_one_card(export: Export) -> None:
    refused, joined, other = export(
        a_row(GLN, "SE", kinds="urn:a::1")
        + a_row(GLN, "DK", "DK:CVR", "12345674", day="2021-01-01", kinds="urn:b::1")
        + "broken\n"
        + a_row(NORWEGIAN, "NO")
    )

    entry = EinvoicingEntry.model_validate_json(joined.core)
    assert refused == "1 cell instead of 14"
    assert (joined.holder, other.holder) == ("dk:12345674", "no:310345679")
    assert (entry.document_types, entry.registered) == (("urn:a::1", "urn:b::1"), "2021-01-01")


def test_a_card_of_too_many_rows_is_refused(export: Export) -> None:
    *refused, last = export(a_row(GLN, "DK", "DK:CVR", "12345674") * 1002)

    assert refused == ["a card of more than 1,000 rows"] * 2
    assert last.holder == "dk:12345674"


def test_cards_of_the_json_export_are_streamed(tmp_path: Path) -> None:
    path = tmp_path / "business-cards.json"
    path.write_bytes(orjson.dumps({"version": 2, "bc": [a_business_card(), a_business_card()]}))

    assert list(read(path, PEPPOL, TODAY)) == [record(), record()]


AN_XML_CARD = """
  <businesscard>
    <participant scheme="iso6523-actorid-upis" value="0088:5790000000005"/>
    <entity countrycode="DK">
      <name name="Prøvekøbing Kommune &amp; Co"/>
      <geoinfo>DK</geoinfo>
      <id scheme="OrgNr" value="12345674"/>
      <contact name="A" email="a@example.com"/>
      <regdate>2023-11-02</regdate>
    </entity>
    <doctypeid scheme="busdox-docid-qns" value="urn:invoice::2.1" state="act"/>
    <doctypeid scheme="busdox-docid-qns" value="urn:creditnote::2.1"/>
  </businesscard>
"""


def an_xml_export(cards: str, namespace: str = "2025:03") -> str:
    name = f"urn:peppol:schema:pd:businesscard-generic:{namespace}"
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<root xmlns="{name}" version="3">{cards}</root>'
    )


def test_an_xml_card_gives_the_same_record_as_the_json_card(tmp_path: Path) -> None:
    path = tmp_path / "business-cards.xml"
    unheld = '<businesscard><participant value="0192:310345679"/></businesscard>'
    path.write_text(an_xml_export(AN_XML_CARD + unheld), "utf-8")

    held = identifiers(OrgNr="12345674")
    card = record(GLN, countryCode="DK", identifiers=held, regdate="2023-11-02")
    first, second = read(path, PEPPOL, TODAY)
    assert first == card
    assert isinstance(second, ParticipantRecord)
    assert (second.key, second.holder) == (NORWEGIAN, "no:310345679")
