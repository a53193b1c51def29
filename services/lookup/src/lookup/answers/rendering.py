"""The JSON of a company, as the client receives it.

Stored JSON is copied, not parsed: a response is assembled from stored pieces.
"""

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from common.contracts.company import (
    REGISTER_OF,
    Include,
    Owner,
    ProductionUnit,
    Role,
    UnitKey,
)
from common.contracts.failures import Failure, FailureCode
from common.contracts.lookup import MAX_LISTED, LookupReply, LookupRequest, SearchType
from common.domain.numbers import registration_number_checks
from lookup.search.indexed_company import SearchHit
from register_store.documents import CompanyRow, completed, completed_entries, dump

_TIMES = orjson.OPT_UTC_Z | orjson.OPT_OMIT_MICROSECONDS

#: Raised when the representation of stored companies changes, which invalidates entity tags.
_SHAPE = "9"

#: The name of each search type in a problem's detail.
_SEARCHED_AS = {
    SearchType.VAT: "a registration number",
    SearchType.NAME: "a name",
    SearchType.PRODU: "a production-unit number",
    SearchType.PHONE: "a phone number",
    SearchType.EAN: "an e-invoicing identifier",
    SearchType.ADDRESS: "an address",
    SearchType.EMAIL: "an e-mail address",
    SearchType.DOMAIN: "a company's domain",
}


#: Maximum companies that a problem's detail names.
_MAX_NAMED = 3


#: The last member of a unit, which one that an earlier release stored lacks.
_LAST_OF_UNITS = f'"{list(ProductionUnit.model_fields)[-1]}":'.encode()


class Candidate(NamedTuple):
    """A stored company that matches a question."""

    type: str
    hit: SearchHit
    row: CompanyRow


class Extras(NamedTuple):
    """Parts of a company that were requested, as stored."""

    #: A JSON list of the first units, and the number of all.
    units: bytes = b"[]"
    units_total: int = 0
    #: The first entries, and the number of all.
    einvoicing: Sequence[bytes] = ()
    einvoicing_total: int = 0
    #: Scores and companies.
    alternatives: Sequence[tuple[float, bytes]] = ()
    #: A JSON list of the first ones and the number of all; JSON null if the register cannot say.
    subsidiaries: bytes = b"null"
    subsidiaries_total: int | None = None
    #: The newest annual accounts, and what their absence means.
    accounts: Sequence[bytes] = ()
    accounts_state: str = "unknown"
    #: The requested day, and the time from which the company is known.
    as_of: tuple[str, str] | None = None


def answer(found: Candidate, include: Collection[Include], extras: Extras) -> LookupReply:
    """Returns the reply, its keys in the order of docs/decisions.md (*The company*)."""
    key, row = found.hit.key, found.row
    parts = _parts(found, include, extras)
    # Whole names: those of two parts may begin alike.
    asked = ".".join(sorted(include))
    if Include.ALTERNATIVES in include:
        others = orjson.dumps([summary(core, its_score) for its_score, core in extras.alternatives])
        parts += (b',"alternatives":', others)
        # Alternatives change without a new revision of the company, and so do subsidiaries.
        asked += hashlib.blake2b(others, digest_size=8).hexdigest()
    if Include.SUBSIDIARIES in include:
        owned = b'%b,"subsidiaries_total":%b' % (
            extras.subsidiaries,
            orjson.dumps(extras.subsidiaries_total),
        )
        parts += (b',"subsidiaries":', owned)
        asked += hashlib.blake2b(owned, digest_size=8).hexdigest()
    if Include.ANNUAL_ACCOUNTS in include:
        filed = _accounts(extras)
        parts += (b",", filed)
        # The state changes without a new revision.
        asked += hashlib.blake2b(filed, digest_size=8).hexdigest()
    if extras.as_of is not None:
        day, known_from = extras.as_of
        parts.append(b',"as_of":%b,"known_from":%b' % (orjson.dumps(day), orjson.dumps(known_from)))
        asked += f"@{day}"
    parts.append(b"}")
    # So do the companies that match as well.
    as_well = f"+{found.hit.others}" if found.hit.others else ""
    by = f"{found.type}{shown(found.hit.score)}{as_well}"
    tag = f"{_SHAPE}-{key.country}{key.vat}-{row.revision}-{by}-{asked}"
    return LookupReply(body=b"".join(parts), tag=tag, vat=key.vat)


def line(found: Candidate, include: Collection[Include], extras: Extras) -> bytes:
    """Returns a company of a copy: its reply without an entity tag, on a line of its own."""
    filed = (b",", _accounts(extras)) if Include.ANNUAL_ACCOUNTS in include else ()
    return b"".join((*_parts(found, include, extras), *filed, b"}\n"))


def _parts(found: Candidate, include: Collection[Include], extras: Extras) -> list[bytes]:
    hit, row = found.hit, found.row
    parts = [
        completed(row.core)[:-1],
        b',"revision":%d,"match":{"type":"%b","score":%b,"matched_name":%b,"others":%b},'
        b'"source":{"register":"%b","updated_at":%b}'
        % (
            row.revision,
            found.type.encode(),
            orjson.dumps(shown(hit.score)),
            orjson.dumps(hit.matched_name),
            orjson.dumps(hit.others),
            REGISTER_OF[hit.key.country].encode(),
            orjson.dumps(row.updated_at, option=_TIMES),
        ),
    ]
    if Include.OWNERS in include:
        parts.append(b',"owners":%b,"owners_total":%b' % _first(row.owners, Owner))
    if Include.PRODUCTION_UNITS in include:
        parts += (b',"production_units":', extras.units)
        parts.append(b',"production_units_total":%d' % extras.units_total)
    if Include.EINVOICING in include:
        parts += (b',"einvoicing":[', b",".join(extras.einvoicing))
        parts.append(b'],"einvoicing_total":%d' % extras.einvoicing_total)
    if Include.ROLES in include:
        parts.append(b',"roles":%b,"roles_total":%b' % _first(row.roles, Role))
    return parts


def _accounts(extras: Extras) -> bytes:
    state = orjson.dumps(extras.accounts_state)
    return b'"annual_accounts":[%b],"accounts_state":%b' % (b",".join(extras.accounts), state)


def _first(listed: bytes, model: type[Owner | Role]) -> tuple[bytes, bytes]:
    if listed == b"null":
        return listed, listed
    entries = orjson.loads(listed)
    shown = completed_entries(entries[:MAX_LISTED], model)
    if len(shown) < len(entries) or shown[:1] != entries[:1]:
        listed = orjson.dumps(shown)
    return listed, b"%d" % len(entries)


def described(company: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the fields of a company in lists."""
    return {
        "vat": company["vat"],
        "name": company["name"],
        "city": (company["address"] or {}).get("city"),
        "status": company["status"],
    }


def summary(core: bytes, score: float) -> dict[str, Any]:
    """Returns the fields of a company in a list of candidates."""
    return {**described(orjson.loads(core)), "score": shown(score)}


def not_found(
    request: LookupRequest, others: Sequence[Candidate] = (), *, is_shared: bool
) -> Failure:
    """Names the inferred types, to explain why nothing was found, and similar companies.

    `others` have the name with another figure. `is_shared` is true if many companies have the words
    of the name.
    """
    detail = "no company in the register matches"
    if all(
        one.type is SearchType.VAT and not registration_number_checks(one.term, request.country)
        for one in request.questions
    ):
        detail = "this is no valid registration number: its check digit is wrong"
    if others:
        companies = (orjson.loads(one.row.core) for one in others[:_MAX_NAMED])
        named = ", ".join(f"{company['name']} ({company['vat']})" for company in companies)
        detail += f"; with another number, numeral or letter in the name: {named}"
    if is_shared:
        detail = "many companies have these words in their names; GET /api/suggest lists them"
    if request.inferred:
        types = (_SEARCHED_AS[question.type] for question in request.questions)
        detail += f"; searched as {', then as '.join(types)}"
    return Failure(code=FailureCode.COMPANY_NOT_FOUND, detail=detail)


def removed(on: str) -> Failure:
    """Returns the answer about the number of a removed company: its day and nothing else."""
    detail = f"the company with this number was removed by order of its register on {on}"
    return Failure(code=FailureCode.COMPANY_NOT_FOUND, detail=detail, removed_on=on)


def shown(score: float) -> float:
    """Returns a score as in responses: `100`, `92.9`."""
    return round(score, 1) if score % 1 else int(score)


def rendered_units(
    keys: Iterable[UnitKey], cores: Mapping[UnitKey, bytes], main: UnitKey | None
) -> bytes:
    """Returns the units as a JSON list; one without a document has only its number."""
    units = []
    for key in keys:
        core = cores.get(key) or dump(ProductionUnit(number=key.number, main=None))
        is_main = key == main and key in cores
        if is_main or _LAST_OF_UNITS not in core:
            (unit,) = completed_entries([orjson.loads(core)], ProductionUnit)
            core = orjson.dumps({**unit, "main": True} if is_main else unit)
        units.append(core)
    return b"[%b]" % b",".join(units)
