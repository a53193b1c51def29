"""The past of a company: the values of its fields from their first days on.

Values, owners and roles have the register's own days. Persons who have left are in it for as long
as the privacy guide says.
"""

from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import Any, Final, NamedTuple

from common.contracts.company import Amount, Status
from common.contracts.contract import Contract
from ingest.records.fields import amount_of
from ingest.registers.cvr.company_documents import CompanyForm, CvrCompany
from ingest.registers.cvr.dated_values import (
    Past,
    changes_of,
    held_on,
    meaning_of,
    past_values,
)
from ingest.registers.cvr.documents import CvrAddress, Industry, public_address
from register_store.documents import former_persons_since


def past_of(company: CvrCompany) -> list[Past]:
    """Returns the values of the fields that have changed, by field and day."""
    as_of, begins = company.as_of, company.began
    found: list[Past] = []
    for field, given, value_of, present in _FIELDS:
        values = given(company)
        # A look at most fields of most companies: one value since the company began.
        if len(values) > 1:
            found += past_values(field, values, value_of, as_of, begins, present(company))
        elif values and begins is not None and (values[0].since or "") > begins:
            found += past_values(field, values, value_of, as_of, begins)
    return [*found, *_statuses(company), *_capital(company), *_holders(company)]


def _fields(model: Contract | None) -> dict[str, Any] | None:
    return None if model is None else vars(model)


def _address(given: CvrAddress) -> dict[str, Any] | None:
    return _fields(public_address(given))


def _public(given: CompanyForm | Industry) -> dict[str, Any] | None:
    return _fields(given.public)


def _attribute(type_: str) -> Callable[[CvrCompany], Sequence[Any]]:
    return lambda company: company.attribute_values(type_)


class _Field(NamedTuple):
    """A field of `Company`, its values in the document, and how each reads."""

    name: str
    given: Callable[[CvrCompany], Sequence[Any]]
    value_of: Callable[[Any], Any]
    #: Returns the value that is shown as the present one, if that needs more than its days.
    present: Callable[[CvrCompany], Any] = lambda _company: None


_FIELDS: Final = (
    _Field("name", attrgetter("navne"), attrgetter("navn")),
    _Field("address", attrgetter("beliggenhedsadresse"), _address, attrgetter("address")),
    _Field("form", attrgetter("virksomhedsform"), _public),
    _Field("industry", attrgetter("hovedbranche"), _public, attrgetter("main_industry")),
    _Field("purpose", _attribute("FORMÅL"), attrgetter("vaerdi")),
    _Field("signing_rule", _attribute("TEGNINGSREGEL"), attrgetter("vaerdi")),
)


def _capital(company: CvrCompany) -> Iterator[Past]:
    """Yields the capital over time, each with the currency of its day."""
    amounts, currencies = (
        company.attribute_values(type_) for type_ in ("KAPITAL", "KAPITALVALUTA")
    )
    is_plain = len(amounts) < 2 and len(currencies) < 2
    if is_plain and not any((one.since or "") > (company.began or "") for one in amounts):
        return
    days = {one.since for one in (*amounts, *currencies) if company.as_of.has_begun(one)}
    found = []
    for day in sorted(day for day in days if day is not None):
        amount = held_on(amounts, day)
        try:
            read = None if amount is None else amount_of(amount.vaerdi)
        except ValueError:
            continue
        if read is not None:
            currency = held_on(currencies, day)
            code = (currency and currency.vaerdi) or "DKK"
            found.append((day, vars(Amount(amount=read, currency=code))))
    yield from changes_of("capital", found, begins=company.began)


def _holders(company: CvrCompany) -> Iterator[Past]:
    participants = company.participants
    if participants is None:
        return
    since = former_persons_since(company.as_of.today)
    for field, changes in (
        ("owners", participants.past_owners(since)),
        ("roles", participants.past_roles(since)),
    ):
        for day, gone, come in changes:
            yield day, field, [gone, come]


def _statuses(company: CvrCompany) -> Iterator[Past]:
    """Yields the status and the register's word for it, with the procedures of courts."""
    words, lives = company.virksomhedsstatus, company.livsforloeb
    is_open = len(lives) < 2 and not any(one.until for one in lives)
    if is_open and len(words) < 2 and not company.procedures:
        return
    begun = [day for day in _turns(company) if day <= company.as_of.today]
    if len(begun) < 2:
        return
    told = [(day, _status_on(day, company)) for day in begun]
    if told[-1][1][0] is not None:
        # The last of them is what the record says.
        told[-1] = told[-1][0], (company.state.status, company.state.text)
    known = [(day, status.value) for day, (status, _) in told if status is not None]
    texts = [(day, text) for day, (_, text) in told]
    while texts and texts[0][1] is None:
        texts.pop(0)
    entries = [
        *changes_of("status", known, begins=company.began),
        *changes_of("status_text", texts, begins=company.began),
    ]
    yield from sorted(entries, key=lambda entry: entry[0])


def _turns(company: CvrCompany) -> list[str]:
    """Returns the days on which the status may have changed."""
    words, lives = company.virksomhedsstatus, company.livsforloeb
    begins = sorted(one.since for one in lives if one.since is not None)
    days = {
        *(one.since for one in words),
        *(one.until for one in lives),
        # The first life begins with the first word.
        *(begins[1:] if words else begins),
        *(day for one in company.procedures for day in (one.since, one.until)),
    }
    return sorted(day for day in days if day is not None)


def _status_on(day: str, company: CvrCompany) -> tuple[Status | None, str | None]:
    """Returns the status and the word of a day; no status for a word that nobody knows."""
    word = held_on(company.virksomhedsstatus, day)
    text = None if word is None else word.status
    meaning = meaning_of(text or "")
    lives = company.livsforloeb
    if lives and not any(
        (one.since or "") <= day and (one.until is None or day < one.until) for one in lives
    ):
        return Status.ENDED, text if meaning is Status.ENDED else None
    if meaning is not None and meaning is not Status.ACTIVE:
        return meaning, text
    for procedure in company.procedures:
        if (procedure.since or "") <= day and (procedure.until is None or day < procedure.until):
            return procedure.status, procedure.text
    return (Status.ACTIVE if text is None else meaning), text
