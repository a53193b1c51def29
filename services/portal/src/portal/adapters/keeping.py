"""Files of customers kept by the API: the table, its columns and results in parts, and decisions.

Part 0 says what the others are; parts 1 to 199 have the rows, parts 200 to 399 their results.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from company_registry import AsyncClient
from company_registry.columns import Columns
from company_registry.customer_file_operations import MAX_PART_SIZE
from portal.domain.customers import Decision, Outcomes, Table, read_decision

_TABLE, _RESULTS, _END = 1, 200, 400
#: Bytes of a part, which leaves room for what is around its entries.
_SIZE: Final = MAX_PART_SIZE - 1024
_VERSION: Final = 1


class CannotKeep(Exception):
    """A file is too large to be kept."""


class CannotOpen(Exception):
    """What is kept is no file of a portal of this release."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A file that was kept, with the decisions about it."""

    name: str
    table: Table
    columns: Columns
    outcomes: Outcomes


async def keep_table(registry: AsyncClient, name: str, table: Table, columns: Columns) -> str:
    """Keeps a file without results; returns its id. Raises CannotKeep, or the API's errors."""
    parts = await asyncio.to_thread(list, _parts(map(json.loads, table.rows)))
    if len(parts) > _RESULTS - _TABLE:
        raise CannotKeep
    created = await registry.create_customer_file(_shown(name), rows=len(table.rows))
    for place, rows in enumerate(parts):
        await registry.put_customer_part(created.id, _TABLE + place, {"rows": rows})
    head = {**_head(table, columns), "tables": len(parts), "results": 0}
    await registry.put_customer_part(created.id, 0, head)
    return created.id


async def keep_results(
    registry: AsyncClient, file_id: str, table: Table, columns: Columns, outcomes: Outcomes
) -> None:
    """Keeps the results of a file; raises CannotKeep, or the API's errors."""
    written = (outcomes.written(row) for row in range(len(outcomes.piles)))
    parts = await asyncio.to_thread(list, _parts(written))
    if len(parts) > _END - _RESULTS:
        raise CannotKeep
    for place, results in enumerate(parts):
        await registry.put_customer_part(file_id, _RESULTS + place, {"results": results})
    # Last, so that it never names results that are not there.
    tables = (await registry.customer_part(file_id, 0))["tables"]
    head = {**_head(table, columns), "tables": tables, "results": len(parts)}
    await registry.put_customer_part(file_id, 0, head)


async def open_file(registry: AsyncClient, file_id: str) -> Opened:
    """Reads a file with its decisions; raises CannotOpen, or the API's errors."""
    file = await registry.get_customer_file(file_id)
    head = await registry.customer_part(file_id, 0)
    try:
        if head.get("version") != _VERSION:
            raise CannotOpen
        rows, outcomes = list[bytes](), Outcomes()
        for number in range(_TABLE, _TABLE + head["tables"]):
            part = await registry.customer_part(file_id, number)
            rows += map(_compact, part["rows"])
        for number in range(_RESULTS, _RESULTS + head["results"]):
            for result in (await registry.customer_part(file_id, number))["results"]:
                outcomes.restore(result)
        table = Table(
            head["header"], rows, head["header_row"], head["sheet"], (), head["description"]
        )
        places = {name: tuple(found) for name, found in head["places"].items()}
        columns = Columns(places, head["country"])
    except (KeyError, TypeError, ValueError, AttributeError):
        raise CannotOpen from None
    async for made in decisions_after(registry, file_id, 0):
        take(outcomes, made)
    return Opened(file.name, table, columns, outcomes)


async def decisions_after(
    registry: AsyncClient, file_id: str, number: int
) -> AsyncIterator[Decision]:
    """Yields the decisions that follow a number; raises CannotOpen, or the API's errors."""
    has_more = True
    while has_more:
        page = await registry.customer_decisions(file_id, after=number)
        for stored in page.decisions:
            try:
                yield read_decision(stored)
            except ValueError:
                raise CannotOpen from None
            number = stored.number
        has_more = page.has_more


def take(outcomes: Outcomes, made: Decision) -> None:
    """Takes a kept decision; one about a row without a result waits for nothing."""
    if made.row < len(outcomes.piles):
        outcomes.apply(made)
    outcomes.number = max(outcomes.number, made.number)


def _head(table: Table, columns: Columns) -> dict[str, Any]:
    return {
        "version": _VERSION,
        "header": table.header,
        "header_row": table.header_row,
        "sheet": table.sheet,
        "description": table.description,
        "places": {name: list(places) for name, places in columns.places.items()},
        "country": columns.country,
    }


def _parts(entries: Iterable[Any]) -> Iterator[list[Any]]:
    part, size = list[Any](), 0
    for entry in entries:
        length = len(_compact(entry)) + 1
        if length > _SIZE:
            raise CannotKeep
        if part and size + length > _SIZE:
            yield part
            part, size = [], 0
        part.append(entry)
        size += length
    if part:
        yield part


def _compact(entry: Any) -> bytes:
    return json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode()


def _shown(name: str) -> str:
    text = "".join(each if each.isprintable() else " " for each in name).strip()
    return text[:200] or "customers"
