"""Companies as entities of the protocol."""

from typing import Final

from common.contracts.company import Country, Include, Status
from common.contracts.lookup import LookupRequest, Question, SearchType

#: Every company has it.
TYPE: Final = {"id": "company", "name": "Company"}


def lookup_of(country: Country, number: str, *include: Include) -> LookupRequest:
    """Returns the lookup of an entity."""
    question = Question(type=SearchType.VAT, term=number)
    return LookupRequest(country=country, questions=(question,), include=include)


def entity(number: str, name: str, city: str | None, status: str) -> dict[str, str]:
    """Returns an entity, with what tells namesakes apart: `Oslo`, `Oslo, ended`."""
    unusual = "" if status == Status.ACTIVE else status.replace("_", " ")
    description = ", ".join(filter(None, (city, unusual)))
    return {"id": number, "name": name, "description": description}
