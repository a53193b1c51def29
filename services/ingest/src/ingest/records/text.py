"""Texts of addresses, for both registers, and Danish names of countries."""

import re
from collections.abc import Sequence
from functools import cache
from typing import Final

#: Postal codes other than four to six digits, by country.
_BRITISH: Final = r"[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}"
_BRITISH_ISLES: Final = ("GB", "GG", "IM", "JE")
_SWEDISH: Final = r"\d{3} ?\d{2}"
_POSTAL_CODES: Final = {
    **dict.fromkeys(_BRITISH_ISLES, _BRITISH),
    **dict.fromkeys(("CZ", "GR", "SE", "SK"), _SWEDISH),
    **dict.fromkeys(("FO", "IS"), r"\d{3}"),
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

#: Countries whose towns have their state before the code: `New York, NY 10001`.
_WITH_STATES: Final = frozenset({"AU", "CA", "US"})
_STATE: Final = re.compile(r"[A-Z]{2,3}")
#: Town lines are searched for in the last parts of a line, up to this many.
_MAX_TOWN_PARTS: Final = 3

_CARE_OF = re.compile(r"c/o[\s:.]*|c\s?/\s?o\s+", re.IGNORECASE)
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


def split_abroad(
    lines: Sequence[str], country: str
) -> tuple[list[str], str | None, str | None] | None:
    """Returns street lines, postal code and city of an address in another country.

    None where they cannot be told apart: no end of the last line is a town with its postal code.
    """
    *before, last = lines
    parts = [part for part in (part.strip() for part in last.split(",")) if part]
    found = None
    for count in range(1, min(len(parts), _MAX_TOWN_PARTS) + 1):
        code, city = town_abroad(", ".join(parts[-count:]), country)
        is_state = country in _WITH_STATES and city is not None and _STATE.fullmatch(city)
        if code is not None and (found is None or city is not None):
            found = [*before, *([", ".join(parts[:-count])] if parts[:-count] else [])], code, city
            if city is not None and not is_state:
                break
    return found


def without_country(lines: Sequence[str], country: str | None) -> list[str]:
    """Returns the lines without those, and the ends of those, that only name the country."""
    names = _names_of(country) if country else frozenset()
    kept = []
    for line in lines:
        parts = line.split(",")
        while parts and parts[-1].strip(" .").casefold() in names:
            parts.pop()
        kept.append(",".join(parts).strip(" ,"))
    return [line for line in kept if line]


@cache
def _town_lines(country: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Returns patterns with the code first and last, there perhaps before a British nation."""
    code = rf"(?P<code>{_POSTAL_CODES.get(country, _DIGITS)})"
    nation = rf"{re.escape(country)}[- ]+"
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
