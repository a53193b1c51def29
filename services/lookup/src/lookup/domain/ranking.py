"""Which of several companies that fit equally well is the answer (spec/decisions.md section 3)."""

from common.contracts.company import Company, Status
from lookup.domain.indexed import rank_of

#: Eight digits hold more employees than any country has.
_MOST = 99_999_999
_NEVER = "9999-12-31"
_LIFE = {Status.ACTIVE: "0", Status.ENDED: "2"}
_BETWEEN_ACTIVE_AND_ENDED = "1"


def sort_text(company: Company) -> str:
    """A company's rank as a text that sorts the better company first.

    MongoDB keeps it in an index, so that a phone number's answer is one indexed read.
    """
    rank = rank_of(company)
    life = _LIFE.get(rank.status, _BETWEEN_ACTIVE_AND_ENDED)
    employees = min(rank.employees, _MOST)
    founded = rank.founded.isoformat() if rank.founded else _NEVER
    return f"{life}|{_MOST - employees:08d}|{founded}|{rank.number:09d}"
