"""Documents of the registers, in their own formats, about invented companies and people."""

from typing import Any

Raw = dict[str, Any]


def an_entity(**fields: Any) -> Raw:
    """A Norwegian `enhet` in the shape of 2026, as the interface gives it."""
    return {
        "organisasjonsnummer": "310345679",
        "navn": "PRØVEFABRIKKEN NORGE AS",
        "organisasjonsform": {"kode": "AS", "beskrivelse": "Aksjeselskap", "_links": {}},
        "registreringsdatoEnhetsregisteret": "2003-04-14",
        "forretningsadresse": a_norwegian_address(),
        "konkurs": False,
        "underAvvikling": False,
        "underTvangsavviklingEllerTvangsopplosning": False,
        "paategninger": [],
        "erIKonsern": False,
        "_links": {"self": {"href": "https://register.example/enheter/310345679"}},
        "respons_klasse": "Enhet",
        **fields,
    }


def a_norwegian_address(*lines: str, **fields: Any) -> Raw:
    return {
        "land": "Norge",
        "landkode": "NO",
        "postnummer": "0159",
        "poststed": "OSLO",
        "adresse": list(lines or ("Prøveveien 12",)),
        "kommune": "OSLO",
        "kommunenummer": "0301",
        **fields,
    }


def a_norwegian_unit(**fields: Any) -> Raw:
    return {
        "organisasjonsnummer": "310345687",
        "navn": "PRØVEFABRIKKEN NORGE AS AVD BERGEN",
        "organisasjonsform": {"kode": "BEDR", "beskrivelse": "Bedrift"},
        "overordnetEnhet": "310345679",
        "beliggenhetsadresse": a_norwegian_address(),
        "_links": {"self": {"href": "https://register.example/underenheter/310345687"}},
        "respons_klasse": "Underenhet",
        **fields,
    }


def roles(*given: Raw, **fields: Any) -> Raw:
    """The roles of one entity, each in a group of its own."""
    groups = [{"type": role["type"], "roller": [role]} for role in given]
    return {"organisasjonsnummer": "310345679", "rollegrupper": groups, **fields}


def a_role(code: str = "INNH", word: str = "Innehaver", **fields: Any) -> Raw:
    """Held by a person unless the fields say otherwise."""
    holder = {} if "enhet" in fields else {"person": a_person()}
    role = {"type": {"kode": code, "beskrivelse": word}, "fratraadt": False, "avregistrert": False}
    return {**role, **holder, **fields}


def a_person(*names: str, **fields: Any) -> Raw:
    given, *middle, family = names or ("Kari", "Testesen")
    name = {"fornavn": given, "etternavn": family}
    if middle:
        name["mellomnavn"] = " ".join(middle)
    return {"fodselsdato": "1970-01-01", "navn": name, "erDoed": False, **fields}


def held(since: str | None, until: str | None = None, **value: Any) -> Raw:
    """A value of a CVR document with its period."""
    period = {"gyldigFra": since, "gyldigTil": until}
    return {**value, "periode": period, "sidstOpdateret": "2015-02-10T00:00:00.000+01:00"}


def named(name: str, since: str | None = None, until: str | None = None) -> Raw:
    return held(since, until, navn=name)


def industry(
    code: str | int, text: str = "Prøver", since: str | None = None, until: str | None = None
) -> Raw:
    return held(since, until, branchekode=code, branchetekst=text)


def employed(year: int, interval: str | None = None, **fields: Any) -> Raw:
    """A count of employees; `interval` as in `5_9`."""
    given = f"ANTAL_{interval}" if interval else None
    return {"aar": year, "intervalKodeAntalAnsatte": given, **fields}


def a_cvr_company(**fields: Any) -> Raw:
    """A `Vrvirksomhed`, as it lies inside an answer's hit."""
    return {
        "cvrNummer": 12345674,
        "navne": [held("1999-11-15", navn="Prøvefabrikken ApS")],
        "beliggenhedsadresse": [a_cvr_address()],
        "livsforloeb": [held("1999-11-15")],
        "virksomhedsstatus": [held("1999-11-15", status="NORMAL")],
        "deltagerRelation": [],
        "reklamebeskyttet": False,
        "fejlRegistreret": False,
        "sidstOpdateret": "2017-02-05T01:00:00.000+01:00",
        **fields,
    }


def a_cvr_unit(**fields: Any) -> Raw:
    """A `VrproduktionsEnhed`."""
    return {
        "pNummer": 1012345670,
        "virksomhedsrelation": [held("1999-11-15", cvrNummer=12345674)],
        "navne": [held("1999-11-15", navn="Prøvefabrikken Nord")],
        "beliggenhedsadresse": [a_cvr_address()],
        "livsforloeb": [held("1999-11-15")],
        "produktionsEnhedMetadata": {"sammensatStatus": "Aktiv"},
        "sidstOpdateret": "2017-02-05T00:00:00.000Z",
        **fields,
    }


def a_cvr_address(since: str = "1999-11-15", until: str | None = None, **fields: Any) -> Raw:
    address = {
        "landekode": "DK",
        "fritekst": None,
        "vejnavn": "Prøvevej",
        "husnummerFra": 43,
        "husnummerTil": None,
        "bogstavFra": None,
        "bogstavTil": None,
        "etage": None,
        "sidedoer": None,
        "conavn": None,
        "postboks": None,
        "bynavn": None,
        "postnummer": 1112,
        "postdistrikt": "København K",
        "kommune": {"kommuneKode": 101, "kommuneNavn": "KØBENHAVN"},
    }
    return held(since, until, **address | fields)


def a_contact(text: str, since: str = "2001-08-23", until: str | None = None, **fields: Any) -> Raw:
    return held(since, until, kontaktoplysning=text, **{"hemmelig": False, **fields})


def an_attribute(kind: str, *values: Raw) -> Raw:
    """An attribute with the history of its values (see `held`)."""
    return {"sekvensnr": 0, "type": kind, "vaerditype": "string", "vaerdier": list(values)}


def a_relation(organisation: Raw, **participant: Any) -> Raw:
    """A participant's relation to a company; a person unless stated otherwise."""
    defaults = {
        "enhedstype": "PERSON",
        "forretningsnoegle": None,
        "navne": [held(None, navn="Anna Testesen")],
        "beliggenhedsadresse": [a_cvr_address(vejnavn="Hjemmevej")],
    }
    return {"deltager": {**defaults, **participant}, "organisationer": [organisation]}


def an_organisation(kind: str, name: str, *attributes: Raw) -> Raw:
    return {
        "hovedtype": kind,
        "organisationsNavn": [held("1999-11-15", navn=name)],
        "medlemsData": [{"attributter": list(attributes)}],
    }


def legal_ownership(share: str, *, votes: str | None = None, until: str | None = None) -> Raw:
    attributes = [an_attribute("EJERANDEL_PROCENT", held("2014-05-01", until, vaerdi=share))]
    if votes is not None:
        value = held("2014-05-01", until, vaerdi=votes)
        attributes.append(an_attribute("EJERANDEL_STEMMERET_PROCENT", value))
    return an_organisation("REGISTER", "EJERREGISTER", *attributes)


def a_business_card(pid: str = "iso6523-actorid-upis::0192:310345679", **entity: Any) -> Raw:
    """A card with one entity."""
    return {
        "pid": pid,
        "entities": [{"names": [{"name": "Prøvefabrikken"}], "countryCode": "NO", **entity}],
        "docTypes": [
            {"scheme": "busdox-docid-qns", "value": "urn:invoice::2.1", "displayName": "Invoice"},
            {"scheme": "busdox-docid-qns", "value": "urn:creditnote::2.1"},
        ],
    }
