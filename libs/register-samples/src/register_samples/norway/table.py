"""Entities as rows of the CSV file, whose columns are dotted paths of the JSON fields."""

from typing import Any

from register_samples.facts import Document

_ADDRESS = ("adresse", "postnummer", "poststed", "kommune", "kommunenummer", "land", "landkode")

COLUMNS = (
    "organisasjonsnummer",
    "navn",
    "organisasjonsform.kode",
    "organisasjonsform.beskrivelse",
    "naeringskode1.kode",
    "naeringskode1.beskrivelse",
    "naeringskode2.kode",
    "naeringskode2.beskrivelse",
    "naeringskode3.kode",
    "naeringskode3.beskrivelse",
    "harRegistrertAntallAnsatte",
    "antallAnsatte",
    "hjemmeside",
    "epostadresse",
    "telefon",
    "mobil",
    *(f"postadresse.{field}" for field in _ADDRESS),
    *(f"forretningsadresse.{field}" for field in _ADDRESS),
    "institusjonellSektorkode.kode",
    "institusjonellSektorkode.beskrivelse",
    "sisteInnsendteAarsregnskap",
    "registreringsdatoEnhetsregisteret",
    "stiftelsesdato",
    "registrertIMvaregisteret",
    "registreringsdatoMerverdiavgiftsregisteret",
    "registreringsdatoMerverdiavgiftsregisteretEnhetsregisteret",
    "frivilligMvaRegistrertBeskrivelser",
    "registrertIFrivillighetsregisteret",
    "registrertIForetaksregisteret",
    "registreringsdatoForetaksregisteret",
    "registrertIStiftelsesregisteret",
    "registrertIPartiregisteret",
    "konkurs",
    "konkursdato",
    "underAvvikling",
    "underAvviklingDato",
    "underTvangsavviklingEllerTvangsopplosning",
    "tvangsopplostPgaManglendeRegnskapDato",
    "underRekonstruksjonsforhandlingDato",
    "slettedato",
    "maalform",
    "vedtektsdato",
    "vedtektsfestetFormaal",
    "erIKonsern",
    "paategninger",
    "registreringsnummerIHjemlandet",
    "underlagtLovgivningLand",
    "underlagtLovgivningLandKode",
    "utenlandskRegisterNavn",
)

#: The CSV file tells that there are remarks, not what they say.
_TOLD_ONLY = {"paategninger"}


def row(entity: Document) -> list[str]:
    """The entity's cells in the order of the columns; lists are joined, missing cells empty."""
    return [_cell(path, _at(entity, path)) for path in COLUMNS]


def _at(entity: Document, path: str) -> Any:
    value: Any = entity
    for field in path.split("."):
        value = value.get(field) if value is not None else None
    return value


def _cell(path: str, value: Any) -> str:
    if path in _TOLD_ONLY:
        value = bool(value)
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case list():
            return ", ".join(map(str, value))
        case _:
            return str(value)
