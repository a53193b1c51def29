"""The past of a company in its CVR document: values of some fields with their first days."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from ingest.registers.cvr.dated_values import AsOf, Dated
from ingest.registers.cvr.documents import CvrAddress, public_address

Value = TypeVar("Value", bound=Dated)


#: A day, a field of `Company` in a dotted path, and the value that it had from then on.
Past = tuple[str, str, str]


def past_values(
    field: str, given: Sequence[Value], text_of: Callable[[Value], str | None], as_of: AsOf
) -> Iterator[Past]:
    """Yields the values of a field in their order; none if it never changed.

    The one value of a field that never changed is in the company's own record. Of values that begin
    on one day, as codes of two classifications do, the last one counts.
    """
    if len(given) < 2:
        return
    begun = [one for one in given if one.since is not None and as_of.has_begun(one)]
    begun.sort(key=lambda one: one.since or "")
    entries: list[Past] = []
    for one in begun:
        text = text_of(one)
        if text is None or one.since is None:
            continue
        if entries and entries[-1][0] == one.since:
            entries.pop()
        # Two periods of one value are one.
        if not entries or entries[-1][2] != text:
            entries.append((one.since, field, text))
    if len(entries) > 1:
        yield from entries


def address_text(given: CvrAddress) -> str | None:
    """Returns an address on one line; None for an empty one."""
    address = public_address(given)
    return None if address is None else address.text
