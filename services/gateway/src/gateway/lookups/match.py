"""Records of customers matched with companies, over HTTP: one decision over both registers.

An error in one record fails only that record, as in a batch of lookups. An unreadable number or
phone number is no error, because customers keep notes in those columns: the result names the field.
A record that can be no company, such as one of another country, is decided here, with its reason.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from math import exp
from typing import Any, Final, NamedTuple, Protocol

import orjson
from aiohttp import web
from aiohttp.typedefs import Handler

from common.contracts.company import Country
from common.contracts.failures import Failure
from common.contracts.match import (
    DEFAULT_CANDIDATES,
    MAX_CANDIDATES,
    MAX_RECORDS,
    ConflictingCompany,
    MatchCandidate,
    MatchConflict,
    MatchDecision,
    MatchEvidence,
    MatchReason,
    MatchRecord,
    MatchReply,
    MatchRequest,
    MatchResult,
    WeighedCompany,
    WeighedRecord,
)
from common.domain.sentences import unknown_names
from common.domain.written import (
    is_personal_number,
    is_placeholder,
    plain,
    plain_name,
    read_country,
)
from gateway.access.clients import Caller
from gateway.http.middleware import REQUEST_CONTEXT
from gateway.http.parameters import COUNTRY, invalid_parameters
from gateway.http.responses import (
    invalid_body,
    json_body,
    json_object,
    json_response,
    problem_document,
)
from gateway.lookups.batch import Charge
from gateway.problems import Problem, problem_of

MATCH_PATH = "/api/match"

#: Records of one message to the lookup service; those of other clients go between the messages.
RECORDS_AT_ONCE = 8

#: The least probability of a match, and of a candidate that a person should see (ADR 0052).
MATCHED, REVIEWED = 0.75, 0.05
#: The least agreement of another company's name with the record's, and by how much it exceeds that
#: of the numbered company's, for number and name to contradict each other (ADR 0106).
NAMED, BETTER_NAMED = 75.0, 15.0
_DIGITS = 4

RECORDS, ID, LIMIT = "records", "id", "limit"
#: Maximum length of an id, and of any other field.
MAX_ID: Final = 200
MAX_FIELD: Final = 300
#: Fields that can find a company.
SEARCHED: Final = ("name", "number", "address", "phone", "email", "website")
RECORD_FIELDS: Final = tuple(MatchRecord.model_fields)
_TEXTS: Final = tuple(name for name in RECORD_FIELDS if name not in (ID, COUNTRY))

_PRIVATE_WORDS: Final = frozenset({
    "privat", "private", "privatperson", "privatkunde", "privatkunder", "privatadresse",
})  # fmt: skip

#: Common given names of Denmark and Norway.
_GIVEN: Final = frozenset({
    "alexander", "anders", "andreas", "anette", "anita", "anna", "anne", "annette", "arne",
    "asbjørn", "astrid", "bent", "bente", "berit", "birgit", "birgitte", "birthe", "bjarne",
    "bjørn", "bo", "brian", "britt", "camilla", "carl", "carsten", "cecilie", "charlotte",
    "christian", "christina", "christoffer", "claus", "daniel", "david", "dorte", "dorthe",
    "egil", "einar", "eirik", "elin", "elisabeth", "ellen", "else", "emil", "emma", "erik",
    "erling", "eva", "finn", "flemming", "frederik", "fredrik", "freja", "geir", "gerd", "gitte",
    "grete", "grethe", "gunn", "gunnar", "hanne", "hans", "harald", "hege", "heidi", "helge",
    "helle", "henning", "henriette", "henrik", "ida", "inge", "inger", "ingrid", "ivar", "jacob",
    "jakob", "jan", "jane", "janne", "jens", "jeppe", "jesper", "jette", "joachim", "john", "jon",
    "jonas", "julie", "jørgen", "jørn", "karen", "kari", "karin", "karina", "karl", "katrine",
    "kenneth", "kent", "kim", "kirsten", "kirsti", "kjell", "kjersti", "klaus", "knud", "knut",
    "kristian", "kristin", "kristina", "kristoffer", "kurt", "lars", "lasse", "leif", "lene",
    "linda", "line", "lis", "lisbeth", "lise", "lone", "lotte", "louise", "mads", "magne",
    "magnus", "maja", "malene", "maren", "maria", "marianne", "marie", "marit", "marius",
    "markus", "martin", "mathias", "mette", "michael", "mikkel", "mogens", "mona", "monica",
    "morten", "nicolai", "niels", "nils", "nina", "ola", "olav", "ole", "oliver", "oskar", "otto",
    "peder", "per", "peter", "pia", "poul", "preben", "ragnhild", "randi", "rasmus", "rita",
    "roar", "robert", "rolf", "rune", "sander", "sanne", "sara", "simon", "sofia", "sofie",
    "solveig", "sonja", "steen", "stein", "sten", "stig", "stine", "susanne", "sven", "svend",
    "søren", "terje", "thomas", "thor", "tina", "tine", "tom", "tone", "tor", "torben", "tore",
    "torill", "tove", "trine", "trond", "ulla", "unni", "vibeke", "victoria", "vidar", "wenche",
    "åse", "øystein",
})  # fmt: skip
#: Common family names of both that end in another syllable than most.
_FAMILY: Final = frozenset({
    "aas", "bach", "bakke", "bakken", "bang", "beck", "berg", "berge", "bruun", "bråten", "dahl",
    "dam", "eide", "frost", "haugen", "hagen", "hansson", "hauge", "holm", "juul", "kjær", "koch",
    "krogh", "lie", "lund", "lunde", "lind", "martinussen", "moe", "moen", "myhre", "myklebust",
    "møller", "nguyen", "nygaard", "ruud", "schmidt", "skov", "solberg", "strand", "sunde", "toft",
    "thorsen", "vestergaard", "winther", "ødegård", "østergaard",
})  # fmt: skip
_FAMILY_ENDING: Final = "sen"
_MIN_WORDS, _MAX_WORDS = 2, 5


class RejectedRecord(NamedTuple):
    """A record that cannot be matched, and why."""

    #: None without a valid one.
    id: str | None
    problem: Problem


class MatchQuery(NamedTuple):
    """Records, and the number of candidates of each."""

    records: tuple[MatchRecord | MatchResult | RejectedRecord, ...]
    limit: int


def parse_match(body: bytes) -> MatchQuery:
    """Returns each record or its problem, in order; raises InvalidBody without records."""
    document = json_object(body)
    faults = unknown_names("field", document, (RECORDS, LIMIT))
    records, limit = document.get(RECORDS), document.get(LIMIT, DEFAULT_CANDIDATES)
    if not isinstance(records, list) or not 1 <= len(records) <= MAX_RECORDS:
        faults.append((RECORDS, f"give a list of 1 to {MAX_RECORDS} records"))
    if type(limit) is not int or not 1 <= limit <= MAX_CANDIDATES:
        faults.append((LIMIT, f"must be a whole number from 1 to {MAX_CANDIDATES}"))
    if faults or not isinstance(records, list):
        raise invalid_body(faults)
    return MatchQuery(tuple(_record(place, each) for place, each in enumerate(records)), limit)


def _record(place: int, record: object) -> MatchRecord | MatchResult | RejectedRecord:
    path = f"{RECORDS}[{place}]"
    if not isinstance(record, dict):
        return RejectedRecord(None, invalid_parameters([(path, "give an object")]))
    given = {name: record[name] for name in RECORD_FIELDS if record.get(name) is not None}
    record_id = given.pop(ID, None)
    faults = unknown_names("field", record, RECORD_FIELDS)
    if not isinstance(record_id, str) or len(record_id) > MAX_ID:
        record_id = None
    if not record_id:
        faults.append((ID, f"give a string of 1 to {MAX_ID} characters"))
    for name, text in given.items():
        if not isinstance(text, str):
            faults.append((name, "give a string"))
        elif len(text) > MAX_FIELD:
            faults.append((name, f"must be at most {MAX_FIELD} characters"))
    if not record_id or faults:
        named = [(f"{path}.{name}", message) for name, message in faults]
        return RejectedRecord(record_id, invalid_parameters(named))
    return read_record(record_id, given)


def read_record(record_id: str, fields: Mapping[str, str]) -> MatchRecord | MatchResult:
    """Returns the record with these fields, or its result if it can be no company."""
    texts = {name: text for name in _TEXTS if (text := plain_name(fields.get(name, "")))}
    country = fields.get(COUNTRY, "").strip()
    said = {name: text for name, text in texts.items() if not is_placeholder(text)}
    reason = None
    if texts.keys().isdisjoint(SEARCHED):
        reason = MatchReason.EMPTY
    elif said.keys().isdisjoint(SEARCHED):
        reason = MatchReason.PLACEHOLDER
    elif country and read_country(country) is None:
        reason = MatchReason.COUNTRY_NOT_COVERED
    elif _is_private(said.get("name", ""), said.get("number", "")):
        reason = MatchReason.PERSON
    if reason is not None:
        return MatchResult(id=record_id, decision=MatchDecision.NONE, reason=reason)
    return MatchRecord.model_validate({ID: record_id, COUNTRY: read_country(country), **said})


class Matches(Protocol):
    """Weighs the companies of one country that records may be."""

    async def match(self, request: MatchRequest, *, caller: Caller) -> MatchReply:
        """Returns the candidates of each record, in order; raises as `Lookups.look_up`."""


@dataclass(frozen=True, slots=True)
class MatchAll:
    """Matches records with the companies of the registers they may be in, concurrently."""

    matches: Matches

    async def __call__(
        self, query: MatchQuery, *, caller: Caller
    ) -> list[MatchResult | RejectedRecord]:
        """Returns the result or problem of each record, in order and independent of the others."""
        records = [record for record in query.records if isinstance(record, MatchRecord)]
        weighed = await asyncio.gather(
            *(self._weighed(country, records, query.limit, caller) for country in Country)
        )
        results = iter(
            [
                _result(record, dict(zip(Country, answers, strict=True)), query.limit)
                for record, *answers in zip(records, *weighed, strict=True)
            ]
        )
        return [
            next(results) if isinstance(record, MatchRecord) else record for record in query.records
        ]

    async def _weighed(
        self, country: Country, records: Sequence[MatchRecord], limit: int, caller: Caller
    ) -> list[WeighedRecord | Problem | None]:
        places = [n for n, each in enumerate(records) if each.country in (None, country)]
        starts = range(0, len(places), RECORDS_AT_ONCE)
        parts = [places[start : start + RECORDS_AT_ONCE] for start in starts]
        requests = (
            MatchRequest(country=country, records=tuple(records[n] for n in part), limit=limit)
            for part in parts
        )
        replies = await asyncio.gather(*(self._reply(each, caller) for each in requests))
        found: list[WeighedRecord | Problem | None] = [None] * len(records)
        for part, reply in zip(parts, replies, strict=True):
            for place, answer in zip(part, reply, strict=True):
                found[place] = answer
        return found

    async def _reply(
        self, request: MatchRequest, caller: Caller
    ) -> Sequence[WeighedRecord | Problem]:
        try:
            reply = await self.matches.match(request, caller=caller)
        except Problem as problem:
            return [problem] * len(request.records)
        return [
            each
            if each.failure is None
            else problem_of(
                Failure(code=each.failure, detail=each.detail, removed_on=each.removed_on)
            )
            for each in reply.records
        ]


def _result(
    record: MatchRecord, answers: dict[Country, WeighedRecord | Problem | None], limit: int
) -> MatchResult | RejectedRecord:
    weighed: dict[Country, WeighedRecord] = {}
    for country, answer in answers.items():
        if isinstance(answer, Problem):
            return RejectedRecord(record.id, answer)
        if answer is not None:
            weighed[country] = answer
    return decided(record, weighed, limit)


class _Ranked(NamedTuple):
    """A candidate with its odds."""

    odds: float
    country: Country
    company: WeighedCompany

    @property
    def key(self) -> tuple[Country, str]:
        return self.country, self.company.vat


class _Conflict(NamedTuple):
    """The candidates that number and name of a record name."""

    number: _Ranked
    name: _Ranked


def decided(
    record: MatchRecord, weighed: Mapping[Country, WeighedRecord], limit: int
) -> MatchResult:
    """Returns the decision about a record: of its candidates, or no company, one is right."""
    found = [_ranked(country, one) for country, w in weighed.items() for one in w.candidates]
    ranked = sorted(found, key=lambda one: (-one.odds, one.key))
    everything = 1.0 + sum(one.odds for one in ranked)
    everything += sum(one.other_odds for one in weighed.values())
    best = ranked[0].odds / everything if ranked else 0.0
    assumed = next((one.assumed_number for one in weighed.values() if one.assumed_number), None)
    unread = [set(one.unread) for one in weighed.values()]
    # A text that one register reads is read.
    unread_everywhere = set.intersection(*unread) if unread else set()
    conflict = _conflict(weighed)
    decision = _decision(best, is_doubtful=bool(assumed or conflict))
    return MatchResult(
        id=record.id,
        decision=decision,
        reason=_reason(record, unread_everywhere) if decision is MatchDecision.NONE else None,
        candidates=tuple(_candidate(one, everything) for one in _shown(ranked, conflict, limit)),
        unread=tuple(name for name in RECORD_FIELDS if name in unread_everywhere),
        assumed={"number": assumed} if assumed else {},
        conflict=conflict
        and MatchConflict(number=_named(conflict.number), name=_named(conflict.name)),
    )


def _decision(best: float, *, is_doubtful: bool) -> MatchDecision:
    if best < REVIEWED:
        return MatchDecision.NONE
    # A record with an assumed number, or one that names two companies, needs a person.
    return MatchDecision.MATCH if best >= MATCHED and not is_doubtful else MatchDecision.REVIEW


def _ranked(country: Country, company: WeighedCompany) -> _Ranked:
    return _Ranked(exp(company.log_odds), country, company)


def contradict(numbered: MatchEvidence, named: MatchEvidence) -> bool:
    """Returns True if a record names two companies: one by its number, another by its name."""
    if numbered.name is None or named.name is None:
        return False
    return named.name >= NAMED and named.name - numbered.name >= BETTER_NAMED


def _conflict(weighed: Mapping[Country, WeighedRecord]) -> _Conflict | None:
    numbered = next(
        (_ranked(country, one.numbered) for country, one in weighed.items() if one.numbered), None
    )
    named = [_ranked(country, one.named) for country, one in weighed.items() if one.named]
    if numbered is None or not named:
        return None
    other = max(named, key=lambda one: (one.company.evidence.name or 0.0, one.odds))
    is_conflict = contradict(numbered.company.evidence, other.company.evidence)
    return _Conflict(numbered, other) if is_conflict else None


def _shown(ranked: Sequence[_Ranked], conflict: _Conflict | None, limit: int) -> Sequence[_Ranked]:
    """Returns the likeliest candidates, among them those of a conflict, which a person compares."""
    if conflict is None:
        return ranked[:limit]
    keys = {one.key for one in conflict}
    others = [one for one in ranked if one.key not in keys][: max(0, limit - len(conflict))]
    return sorted([*conflict, *others], key=lambda one: (-one.odds, one.key))[:limit]


def _candidate(one: _Ranked, everything: float) -> MatchCandidate:
    return MatchCandidate(
        country=one.country,
        vat=one.company.vat,
        name=one.company.name,
        city=one.company.city,
        address=one.company.address,
        form=one.company.form,
        status=one.company.status,
        score=round(one.odds / everything, _DIGITS),
        evidence=one.company.evidence,
    )


def _named(one: _Ranked) -> ConflictingCompany:
    return ConflictingCompany(country=one.country, vat=one.company.vat, name=one.company.name)


def _reason(record: MatchRecord, unread: Set[str]) -> MatchReason:
    if _may_be_person(record.name or ""):
        return MatchReason.PERSON
    given = {name for name in SEARCHED if getattr(record, name)}
    return MatchReason.UNREADABLE if given <= unread else MatchReason.NOT_FOUND


def match_handler(match_all: MatchAll, charge: Charge) -> Handler:
    """Returns the handler of matches; the request was already counted as the first record."""

    async def match(request: web.Request) -> web.Response:
        query = parse_match(await json_body(request))
        context = request[REQUEST_CONTEXT]
        if context.key is not None:
            context.quota = charge(context.key, len(query.records) - 1)
        results = await match_all(query, caller=context.caller)
        return json_response(document(results, context.request_id))

    return match


def document(results: Iterable[MatchResult | RejectedRecord], request_id: str) -> bytes:
    """Returns the public answer, in the order of the records."""
    return orjson.dumps({"results": [_member(each, request_id) for each in results]})


def _member(result: MatchResult | RejectedRecord, request_id: str) -> dict[str, Any]:
    if isinstance(result, RejectedRecord):
        return {"id": result.id, "problem": problem_document(result.problem, request_id)}
    written = result.model_dump(mode="json")
    for candidate in written["candidates"]:
        candidate["evidence"] = {
            field: value for field, value in candidate["evidence"].items() if value is not None
        }
    return written


def _is_private(name: str, number: str) -> bool:
    return is_personal_number(number) or any(
        plain(text).casefold().strip("()") in _PRIVATE_WORDS for text in (name, number)
    )


def _may_be_person(name: str) -> bool:
    # A given name before a family name. Businesses have such names too, so this explains only why
    # a record has no company.
    words = plain(name).casefold().replace(".", "").split()
    if not _MIN_WORDS <= len(words) <= _MAX_WORDS:
        return False
    first, last = words[0].partition("-")[0], words[-1]
    return first in _GIVEN and (last in _FAMILY or last.endswith(_FAMILY_ENDING))
