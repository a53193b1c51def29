"""E-invoicing identifiers: `<scheme>:<value>`, the scheme an ISO 6523 code of the Peppol code list.

Normalised the way importers store them: without the network's prefix, a national number without
its country's letters, a bare 13-digit number as the GLN that it is.
"""

import re
from dataclasses import dataclass

from common.contracts.company import Country
from gateway.domain.numbers import Unfit, bare_number, has_gln_check_digit

#: How Peppol writes a participant in full.
NETWORK_PREFIX = "iso6523-actorid-upis::"

GLN_SCHEME = "0088"
GLN_DIGITS = 13

#: Danish civil registration numbers, now and formerly: a person's, which nobody may look up here.
PERSONAL_SCHEMES = frozenset({"0237", "9901"})

#: Longest value of any scheme (Peppol's policy for identifiers).
LONGEST_VALUE = 50


@dataclass(frozen=True, slots=True)
class NationalScheme:
    """A scheme whose value is a number of one country's register."""

    country: Country
    digits: int
    #: Letters that the value may start with, and end with, and that are not stored.
    prefix: str
    suffix: str = ""


#: Those from 9900 on are withdrawn from the code list, but still listed by some.
NATIONAL = {
    "0184": NationalScheme(Country.DK, 8, "DK"),  # CVR number
    "0096": NationalScheme(Country.DK, 10, "DK"),  # P-number
    "0198": NationalScheme(Country.DK, 8, "DK"),  # SE number
    "9902": NationalScheme(Country.DK, 8, "DK"),  # CVR number
    "9904": NationalScheme(Country.DK, 8, "DK"),  # SE number
    "0192": NationalScheme(Country.NO, 9, "NO", "MVA"),  # organisation number
    "9908": NationalScheme(Country.NO, 9, "NO", "MVA"),  # organisation number
}

#: National numbers and GLNs may be grouped, like all numbers.
_IDENTIFIER = re.compile(r"(?P<scheme>[0-9]{4}):\s*(?P<value>\S.*)")
_UNGROUPED = re.compile(rf"[!-~]{{1,{LONGEST_VALUE}}}")


def normalise_identifier(text: str, country: Country) -> str:
    """`<scheme>:<value>`; raises Unfit when it is no identifier, or one of the other country."""
    trimmed = text.strip()
    if trimmed[: len(NETWORK_PREFIX)].lower() == NETWORK_PREFIX:
        trimmed = trimmed[len(NETWORK_PREFIX) :]
    match = _IDENTIFIER.fullmatch(trimmed)
    if match is None:
        return f"{GLN_SCHEME}:{_bare_gln(trimmed)}"
    scheme, value = match["scheme"], match["value"]
    return f"{scheme}:{_value(scheme, value, country)}"


def _value(scheme: str, value: str, country: Country) -> str:
    if scheme in PERSONAL_SCHEMES:
        raise Unfit("an identifier of a natural person cannot be looked up")
    if scheme == GLN_SCHEME:
        return _listed_gln(value)
    national = NATIONAL.get(scheme)
    if national is not None:
        return _national(scheme, value, national, country)
    if not _UNGROUPED.fullmatch(value):
        raise Unfit(f"an identifier's value is at most {LONGEST_VALUE} characters without spaces")
    return value.lower()  # Peppol compares values without regard to case


def _national(scheme: str, value: str, national: NationalScheme, country: Country) -> str:
    if national.country != country:
        raise Unfit(f"scheme {scheme} is not used in {country}")
    if national.suffix and value.upper().endswith(national.suffix):
        value = value[: -len(national.suffix)]
    digits = bare_number(value, prefix=national.prefix)
    if len(digits) != national.digits:
        raise Unfit(f"an identifier of scheme {scheme} has {national.digits} digits")
    return digits


def _listed_gln(value: str) -> str:
    # With its scheme it is compared as it is listed, and some are listed with a wrong check digit.
    digits = bare_number(value)
    if len(digits) != GLN_DIGITS:
        raise Unfit(f"an identifier of scheme {GLN_SCHEME} has {GLN_DIGITS} digits")
    return digits


def _bare_gln(text: str) -> str:
    digits = bare_number(text)
    if len(digits) != GLN_DIGITS or not has_gln_check_digit(digits):
        raise Unfit(
            f"give a GLN of {GLN_DIGITS} digits with its check digit, or <scheme>:<value>, "
            "such as 0184:12345674"
        )
    return digits
