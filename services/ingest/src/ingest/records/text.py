"""Texts of addresses, for both registers, and Danish names of countries."""

import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from typing import Final, NamedTuple

#: Postal codes by country; elsewhere four to six digits.
_BRITISH: Final = r"[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}"
_BRITISH_ISLES: Final = ("GB", "GG", "IM", "JE")
_SWEDISH: Final = r"\d{3} ?\d{2}"
_POSTAL_CODES: Final = {
    **dict.fromkeys(_BRITISH_ISLES, _BRITISH),
    **dict.fromkeys(("CZ", "GR", "SE", "SK"), _SWEDISH),
    **dict.fromkeys(("FO", "IS"), r"\d{3}"),
    **dict.fromkeys(
        ("AT", "AU", "BE", "BG", "CH", "CY", "GL", "HU", "LI", "LU", "LV", "NO", "NZ", "SI", "ZA"),
        r"\d{4}",
    ),
    **dict.fromkeys(
        ("DE", "EE", "ES", "FI", "FR", "HR", "IT", "LT", "MC", "MX", "MY", "RS", "TH", "TR", "UA"),
        r"\d{5}",
    ),
    **dict.fromkeys(("CN", "RO", "RU", "SG"), r"\d{6}"),
    "BR": r"\d{5}-?\d{3}",
    "CA": r"[A-Z]\d[A-Z] ?\d[A-Z]\d",
    "IE": r"[A-Z]\d[\dW] ?[A-Z\d]{4}",
    "IN": r"\d{3} ?\d{3}",
    "JP": r"\d{3}-?\d{4}",
    "MT": r"[A-Z]{3} ?\d{4}",
    "NL": r"\d{4} ?[A-Z]{2}",
    "PL": r"\d{2}[- ]?\d{3}",
    "PT": r"\d{4}(?:-\d{3})?",
    "US": r"\d{5}(?:-\d{4})?",
}
_DIGITS: Final = r"\d{4,6}"
#: Maximum length of a town line; a long hostile one would be slow to match.
_MAX_TOWN_LINE: Final = 100

#: Countries where digits after a town are its code without a comma between them too: elsewhere
#: `Teststrasse 1050` is a street with its number.
_CODE_LAST: Final = frozenset({"AU", "CN", "IN", "JP", "LV", "NZ", "SG", "TH", "US"})

#: Parts of countries that stand between a town and its code, by their short and long names.
_REGIONS: Final = {
    "AU": "ACT|NSW|NT|QLD|SA|TAS|VIC|WA|Australian Capital Territory|New South Wales"
    "|Northern Territory|Queensland|South Australia|Tasmania|Victoria|Western Australia",
    "CA": "AB|BC|MB|NB|NL|NS|NT|NU|ON|PE|PEI|QC|SK|YT|Alberta|British Columbia|Manitoba"
    "|New Brunswick|Newfoundland and Labrador|Nova Scotia|Nunavut|Ontario|Prince Edward Island"
    "|Quebec|Québec|Saskatchewan|Yukon",
    "GB": "Avon|Bedfordshire|Berkshire|Berks|Buckinghamshire|Bucks|Cambridgeshire|Cheshire"
    "|Cleveland|Cornwall|Cumbria|Derbyshire|Devon|Dorset|East Sussex|Essex|Gloucestershire"
    "|Greater London|Greater Manchester|Hampshire|Hants|Herefordshire|Hertfordshire|Herts|Kent"
    "|Lancashire|Lancs|Leicestershire|Lincolnshire|Merseyside|Middlesex|Norfolk|North Yorkshire"
    "|Northamptonshire|Northumberland|Nottinghamshire|Notts|Oxfordshire|Oxon|Shropshire|Somerset"
    "|South Yorkshire|Staffordshire|Suffolk|Surrey|Sussex|Tyne and Wear|Warwickshire"
    "|West Midlands|West Sussex|West Yorkshire|Wiltshire|Wilts|Worcestershire|England|Scotland"
    "|Wales|Northern Ireland",
    # New York and Washington are towns as well.
    "US": "AK|AL|AR|AZ|CA|CO|CT|DC|DE|FL|GA|HI|IA|ID|IL|IN|KS|KY|LA|MA|MD|ME|MI|MN|MO|MS|MT|NC|ND"
    "|NE|NH|NJ|NM|NV|NY|OH|OK|OR|PA|RI|SC|SD|TN|TX|UT|VA|VT|WA|WI|WV|WY|Alabama|Alaska|Arizona"
    "|Arkansas|California|Colorado|Connecticut|Delaware|Florida|Georgia|Hawaii|Idaho|Illinois"
    "|Indiana|Iowa|Kansas|Kentucky|Louisiana|Maine|Maryland|Massachusetts|Michigan|Minnesota"
    "|Mississippi|Missouri|Montana|Nebraska|Nevada|New Hampshire|New Jersey|New Mexico"
    "|North Carolina|North Dakota|Ohio|Oklahoma|Oregon|Pennsylvania|Rhode Island|South Carolina"
    "|South Dakota|Tennessee|Texas|Utah|Vermont|Virginia|West Virginia|Wisconsin|Wyoming",
}
#: The last word of what is a street or a building rather than a town.
_NO_TOWN: Final = re.compile(
    r"(?:ave|avenue|boulevard|blvd|building|centre|center|close|court|drive|floor|gardens|house"
    r"|lane|park|parkway|place|plaza|quay|road|rd|row|square|st|street|suite|terrace|tower|towers"
    r"|way|wharf|yard|strasse|straße|weg|platz|allee|gatan|gata|gate|vägen|vej|vei|gade|rue|via"
    r"|calle|straat|laan)\.?$",
    re.IGNORECASE,
)
#: Districts of Dublin are parts of its name.
_NUMBERED_TOWN: Final = re.compile(r"(?:Dublin|Baile Átha Cliath) \d{1,2}W?", re.IGNORECASE)
#: Town lines are searched for in the last parts of an address, up to this many.
_MAX_TOWN_PARTS: Final = 4
#: Words in the place of a town that is not known.
_UNKNOWN_TOWN: Final = re.compile(r"(?:9999 ?)?(?:ukendt|uoplyst)(?: adresse)?", re.IGNORECASE)

#: Countries of which a town has the name.
_TOWNS_OF_ONE_NAME: Final = frozenset({"DJ", "GI", "GT", "KW", "LU", "MC", "PA", "SG", "SM", "VA"})

_CARE_OF = re.compile(r"c/o[\s:.]*|c\s?/\s?o\s+", re.IGNORECASE)
_CARE_OF_INSIDE = re.compile(r"\sc\s?/\s?o[\s:.]+", re.IGNORECASE)
#: A line break, or spaces where there was one.
_LINES = re.compile(r"\n|[ \t]{2,}")
#: A name that states itself how it is meant: `v/Hans`, `Att.: Anna`.
_ADDRESSED = re.compile(r"(?:v\s?/|att\b)", re.IGNORECASE)


def care_of(line: str) -> str | None:
    """Returns the name after `c/o`, which may be empty; None if the line does not begin with it."""
    match = _CARE_OF.match(line)
    return None if match is None else line[match.end() :]


def on_one_line(
    co: str | None, street: str | None, district: str | None, town: str, country: str | None
) -> str:
    """Returns an address as on a letter, its lines joined by commas; may be empty."""
    named = co if co is None or _ADDRESSED.match(co) else f"c/o {co}"
    lines = (named, street, district, town, country)
    return ", ".join([line for line in lines if line])


def town_line(postal_code: str | None, city: str | None) -> str:
    """Returns the postal code and town as on a letter; empty if both are missing."""
    return " ".join([part for part in (postal_code, city) if part])


def town_abroad(line: str, country: str) -> tuple[str | None, str | None]:
    """Returns the postal code and city of a town line: `SE-111 24 STOCKHOLM`, `LONDON SW1Y 4JU`.

    A line without a recognised postal code of the country is the city.
    """
    if len(line) > _MAX_TOWN_LINE:
        return None, line
    before, after = _town_lines(country)
    if found := before.fullmatch(line):
        return found["code"], found["city"]
    if found := after.fullmatch(line):
        nation = found["nation"]
        return found["code"], f"{found['city']} {nation}" if nation else found["city"]
    return None, line


class FreeAddress(NamedTuple):
    """An address in free text, in its parts."""

    #: All of it but the country, in the order of the register.
    text: str
    co: str | None
    street: str | None
    #: None where it is not sure, as is the town.
    postal_code: str | None
    city: str | None


def free_address(text: str, country: str, *, is_whole: bool = True) -> FreeAddress:
    """Returns the parts of an address in another country; of a street alone if it is not whole.

    A part that is not surely a town is none: street and town of the address are then in its text.
    """
    parts = [
        part.strip(" ,")
        for line in _LINES.split(text)
        for part in line.split(",")
        if part.strip(" ,")
    ]
    if is_whole:
        parts = _without_country(parts, country)
    named = [_co_in(part) for part in parts if not is_unknown_town(part)]
    co = next((co for _, co in named if co), None)
    written = [part for rest, name in named for part in (rest, name and f"c/o {name}") if part]
    rest = [part for part, _ in named if part]
    count, code, city = (_town(rest, country) if is_whole else None) or (0, None, None)
    street = ", ".join(rest[: len(rest) - count]) if count or not is_whole else None
    return FreeAddress(", ".join(written), co, street or None, code, city)


def without_accents(text: str) -> str:
    """Returns a text in upper case and plain letters, as Faroese names are compared."""
    plain = unicodedata.normalize("NFKD", text.upper()).replace("Ø", "O").replace("Ð", "D")
    return "".join(letter for letter in plain if not unicodedata.combining(letter))


def is_unknown_town(text: str) -> bool:
    """Returns True for a word that says that the town is not known: `9999 Ukendt`."""
    return _UNKNOWN_TOWN.fullmatch(text.strip()) is not None


def _co_in(part: str) -> tuple[str | None, str | None]:
    """Returns a part without the name after `c/o`, and the name."""
    name = care_of(part)
    if name is not None:
        return None, name.strip() or None
    inside = _CARE_OF_INSIDE.search(part)
    if inside is None:
        return part, None
    return part[: inside.start()].strip() or None, part[inside.end() :].strip() or None


def _town(parts: Sequence[str], country: str) -> tuple[int, str, str | None] | None:
    """Returns how many of the last parts are the town, its code and its name; None without a code.

    The name is None where it is not sure.
    """
    found = None
    for count in range(1, min(len(parts), _MAX_TOWN_PARTS) + 1):
        line = ", ".join(parts[-count:])
        code, city = _town_of(line, country)
        if code is None:
            continue
        if city is None:
            # The text before a code on its own may be its town.
            found = found or (count, code, None)
        elif _is_region(city, country):
            found = count, code, None
        elif _may_be_town(city, is_first=line.startswith(city)):
            return count, code, city
        else:
            break
    return found


def _town_of(line: str, country: str) -> tuple[str | None, str | None]:
    """Returns the code and the town of a line; a town before bare digits needs a comma."""
    code, city = town_abroad(line, country)
    if code is None or city is None or not line.startswith(city):
        return code, city
    is_bare = code.isdigit() and line[len(city) :].strip() == code
    is_sure = not is_bare or country in _CODE_LAST
    return (code, city) if is_sure else (None, line)


def _is_region(city: str, country: str) -> bool:
    return city.casefold() in _regions(country)


def _may_be_town(city: str, *, is_first: bool) -> bool:
    """Returns False for what looks like a street; behind its code a town may have a number."""
    *_, last = city.split(", ")
    if not is_first or _NUMBERED_TOWN.fullmatch(city):
        return True
    return not any(letter.isdigit() for letter in city.split(",")[0]) and not _NO_TOWN.search(last)


@cache
def _regions(country: str) -> frozenset[str]:
    return frozenset(_REGIONS.get(country, "").casefold().split("|"))


def _without_country(parts: list[str], country: str) -> list[str]:
    """Returns the parts without the last ones that only name the country.

    Where a town has the country's name, the last of them is the town.
    """
    names = _names_of(country)
    kept = list(parts)
    while kept and kept[-1].strip(" .").casefold() in names:
        is_town = country in _TOWNS_OF_ONE_NAME and not any(
            name in part.casefold() for part in kept[:-1] for name in names if len(name) > 2
        )
        if is_town:
            break
        kept.pop()
    if kept and country not in _TOWNS_OF_ONE_NAME:
        kept[-1] = _without_last_word(kept[-1], names)
    return kept


def _without_last_word(part: str, names: frozenset[str]) -> str:
    """Returns a part without a country's name behind its town: `211 20 Malmö Sverige`."""
    for name in names:
        before = part[: -len(name)]
        is_last = len(name) > 2 and part.casefold().endswith(name) and before.endswith(" ")
        if is_last and any(letter.isdigit() for letter in before):
            return before.strip(" ,")
    return part


@cache
def _town_lines(country: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Returns patterns with the code first and last, there perhaps before a British nation."""
    code = rf"(?P<code>{_POSTAL_CODES.get(country, _DIGITS)})"
    nation = rf"{re.escape(country)}[- ]*"
    # The code may follow the letters of the country's cars: `D-20095`, `FIN-00100`.
    marked = rf"(?:{nation}|[A-Z]{{1,3}}-)?{code}"
    end = r"(?:[ ,]+(?P<nation>\D+))?" if country in _BRITISH_ISLES else r"(?P<nation>)"
    flags = re.IGNORECASE | re.ASCII
    return (
        re.compile(rf"{marked}(?:[ ,]+(?P<city>\D.*))?", flags),
        re.compile(rf"(?:{nation})?(?P<city>\D.*?)[ ,]+{marked}{end}", flags),
    )


@cache
def _names_of(country: str) -> frozenset[str]:
    """Returns the names of a country in lower case: the Danish one, its code, and others."""
    others = _OTHER_NAMES.get(country, "").split("|")
    names = (country, DANISH.get(country, ""), *others)
    return frozenset(name.strip(" .").casefold() for name in names if name)


#: English names and the countries' own, of those that are in the registers most.
_OTHER_NAMES: Final[dict[str, str]] = {
    "AT": "Austria|Österreich",
    "AU": "Australia",
    "BE": "Belgium|België|Belgique",
    "CA": "Canada",
    "CH": "Switzerland|Schweiz|Suisse|Svizzera",
    "CN": "China|P.R. China|PR China|People's Republic of China",
    "CY": "Cyprus",
    "CZ": "Czech Republic|Czechia",
    "DE": "Germany|Deutschland",
    "EE": "Estonia|Eesti",
    "ES": "Spain|España",
    "FI": "Suomi",
    "FO": "Faroe Islands|Føroyar",
    "FR": "France",
    "GB": "UK|U.K|United Kingdom|Great Britain|England",
    "GL": "Greenland|Kalaallit Nunaat",
    "HK": "Hong Kong",
    "HU": "Hungary|Magyarország",
    "IE": "Ireland|Éire",
    "IN": "India",
    "IS": "Iceland|Ísland",
    "IT": "Italy|Italia",
    "JP": "Japan",
    "LI": "Liechtenstein",
    "LT": "Lithuania|Lietuva",
    "LU": "Luxembourg|Luxemburg",
    "LV": "Latvia|Latvija",
    "NL": "Netherlands|The Netherlands|Nederland|Holland",
    "NO": "Norway|Noreg",
    "PL": "Poland|Polska",
    "PT": "Portugal",
    "RO": "Romania|România",
    "SE": "Sweden",
    "SG": "Singapore",
    "TR": "Turkey|Türkiye",
    "UA": "Ukraine",
    "US": "U.S.A|U.S|United States|United States of America",
}


_NAMES: Final = """
AD Andorra|AE De Forenede Arabiske Emirater|AF Afghanistan|AG Antigua og Barbuda|AI Anguilla
AL Albanien|AM Armenien|AO Angola|AQ Antarktis|AR Argentina|AS Amerikansk Samoa|AT Østrig
AU Australien|AW Aruba|AX Åland|AZ Aserbajdsjan|BA Bosnien-Hercegovina|BB Barbados|BD Bangladesh
BE Belgien|BF Burkina Faso|BG Bulgarien|BH Bahrain|BI Burundi|BJ Benin|BL Saint-Barthélemy
BM Bermuda|BN Brunei|BO Bolivia|BQ De tidligere Nederlandske Antiller|BR Brasilien|BS Bahamas
BT Bhutan|BW Botswana|BY Belarus|BZ Belize|CA Canada|CC Cocosøerne|CD Congo-Kinshasa
CF Den Centralafrikanske Republik|CG Congo-Brazzaville|CH Schweiz|CI Elfenbenskysten|CK Cookøerne
CL Chile|CM Cameroun|CN Kina|CO Colombia|CR Costa Rica|CU Cuba|CV Kap Verde|CW Curaçao
CX Christmasøen|CY Cypern|CZ Tjekkiet|DE Tyskland|DJ Djibouti|DM Dominica
DO Den Dominikanske Republik|DZ Algeriet|EC Ecuador|EE Estland|EG Egypten|EH Vestsahara|ER Eritrea
ES Spanien|ET Etiopien|FI Finland|FJ Fiji|FK Falklandsøerne|FM Mikronesien|FO Færøerne|FR Frankrig
GA Gabon|GB Storbritannien|GD Grenada|GE Georgien|GF Fransk Guyana|GG Guernsey|GH Ghana
GI Gibraltar|GL Grønland|GM Gambia|GN Guinea|GP Guadeloupe|GQ Ækvatorialguinea|GR Grækenland
GT Guatemala|GU Guam|GW Guinea-Bissau|GY Guyana|HK Hongkong|HN Honduras|HR Kroatien|HT Haiti
HU Ungarn|ID Indonesien|IE Irland|IL Israel|IM Isle of Man|IN Indien|IQ Irak|IR Iran|IS Island
IT Italien|JE Jersey|JM Jamaica|JO Jordan|JP Japan|KE Kenya|KG Kirgisistan|KH Cambodja|KI Kiribati
KM Comorerne|KN Saint Kitts og Nevis|KP Nordkorea|KR Sydkorea|KW Kuwait|KY Caymanøerne
KZ Kasakhstan|LA Laos|LB Libanon|LC Saint Lucia|LI Liechtenstein|LK Sri Lanka|LR Liberia
LS Lesotho|LT Litauen|LU Luxembourg|LV Letland|LY Libyen|MA Marokko|MC Monaco|MD Moldova
ME Montenegro|MF Saint-Martin|MG Madagaskar|MH Marshalløerne|MK Nordmakedonien|ML Mali|MM Myanmar
MN Mongoliet|MO Macao|MP Nordmarianerne|MQ Martinique|MR Mauretanien|MS Montserrat|MT Malta
MU Mauritius|MV Maldiverne|MW Malawi|MX Mexico|MY Malaysia|MZ Mozambique|NA Namibia
NC Ny Kaledonien|NE Niger|NF Norfolkøen|NG Nigeria|NI Nicaragua|NL Nederlandene|NO Norge|NP Nepal
NR Nauru|NU Niue|NZ New Zealand|OM Oman|PA Panama|PE Peru|PF Fransk Polynesien|PG Papua Ny Guinea
PH Filippinerne|PK Pakistan|PL Polen|PM Saint-Pierre og Miquelon|PN Pitcairn|PR Puerto Rico
PS Palæstina|PT Portugal|PW Palau|PY Paraguay|QA Qatar|RE Réunion|RO Rumænien|RS Serbien
RU Rusland|RW Rwanda|SA Saudi-Arabien|SB Salomonøerne|SC Seychellerne|SD Sudan|SE Sverige
SG Singapore|SH Saint Helena|SI Slovenien|SJ Svalbard og Jan Mayen|SK Slovakiet|SL Sierra Leone
SM San Marino|SN Senegal|SO Somalia|SR Surinam|SS Sydsudan|ST São Tomé og Príncipe|SV El Salvador
SX Sint Maarten|SY Syrien|SZ Eswatini|TC Turks- og Caicosøerne|TD Tchad|TG Togo|TH Thailand
TJ Tadsjikistan|TK Tokelau|TL Timor-Leste|TM Turkmenistan|TN Tunesien|TO Tonga|TR Tyrkiet
TT Trinidad og Tobago|TV Tuvalu|TW Taiwan|TZ Tanzania|UA Ukraine|UG Uganda|US USA|UY Uruguay
UZ Usbekistan|VA Vatikanstaten|VC Saint Vincent og Grenadinerne|VE Venezuela
VG De Britiske Jomfruøer|VI De Amerikanske Jomfruøer|VN Vietnam|VU Vanuatu|WF Wallis og Futuna
WS Samoa|XK Kosovo|YE Yemen|YT Mayotte|ZA Sydafrika|ZM Zambia|ZW Zimbabwe
"""

#: By ISO 3166 code.
DANISH: Final[dict[str, str]] = {
    code: name
    for line in _NAMES.split("\n")
    for code, _, name in (country.partition(" ") for country in line.split("|") if country)
}
