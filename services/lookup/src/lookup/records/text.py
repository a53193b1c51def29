"""Texts of addresses, for both registers, and Danish names of countries."""

import re
from functools import cache
from typing import Final

#: Postal codes other than four to six digits, by country.
_BRITISH: Final = r"[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}"
_SWEDISH: Final = r"\d{3} ?\d{2}"
_POSTAL_CODES: Final = {
    **dict.fromkeys(("GB", "GG", "IM", "JE"), _BRITISH),
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

_CARE_OF = re.compile(r"c/o[\s:.]*|c\s?/\s?o\s+", re.IGNORECASE)


def care_of(line: str) -> str | None:
    """Returns the name after `c/o`, which may be empty; None if the line does not begin with it."""
    match = _CARE_OF.match(line)
    return None if match is None else line[match.end() :]


def on_one_line(
    co: str | None, street: str | None, district: str | None, town: str, country: str | None
) -> str:
    """Returns an address as on a letter, its lines joined by commas; may be empty."""
    lines = (f"c/o {co}" if co else None, street, district, town, country)
    return ", ".join(line for line in lines if line)


def town_line(postal_code: str | None, city: str | None) -> str:
    """Returns the postal code and town as on a letter; empty if both are missing."""
    return " ".join(part for part in (postal_code, city) if part)


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


@cache
def _town_lines(country: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Returns patterns with the code first and last, there perhaps before a British nation."""
    code = rf"(?P<code>{_POSTAL_CODES.get(country, _DIGITS)})"
    prefix = rf"(?:{re.escape(country)}[- ]+)?"
    flags = re.IGNORECASE | re.ASCII
    return (
        re.compile(rf"{prefix}{code}(?:[ ,]+(?P<city>\D.*))?", flags),
        re.compile(rf"{prefix}(?P<city>\D.*?)[ ,]+{code}(?:[ ,]+(?P<nation>\D+))?", flags),
    )


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
