"""Filings of accounts as the Danish index of publications has them (`offentliggoerelser`)."""

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Any, Final

from common.contracts.accounts import AccountsPeriod
from ingest.records.records import Raw, RecordRejected
from ingest.registers.cvr.annual_accounts import Filing

#: The document with figures is the first of these that a filing has: what stands beside it tells of
#: the auditor and the class, or has the accounts of the company beside those of its group.
_ANNUAL: Final = (
    "AARSRAPPORT_ESEF",
    "AARSRAPPORT",
    "KONCERNREGNSKAB",
    "AFSLUTTENDE_LIKVIDATIONSREGNSKAB",
    "INDLEDENDE_LIKVIDATIONSREGNSKAB",
)
#: A filing with one of these is not annual, whatever else it has.
_INTERIM: Final = re.compile(r"(DELAARSRAPPORT|HALVAARSRAPPORT)(_ESEF)?")
#: The register has made these of the XHTML that was filed, which may have 75 MB.
_XBRL, _PDF = "application/xml", "application/pdf"
_ID: Final = re.compile(r"[!-~]{1,100}")
_URL: Final = re.compile(r"https?://[!-~]{1,500}")
#: Documents of one filing that are read.
_MAX_DOCUMENTS: Final = 4


def filing_of(hit: Raw) -> Filing | None:
    """Returns what a hit says of annual accounts; None if it is about something else.

    Raises RecordRejected, naming the invalid field.
    """
    source = hit.get("_source", hit)
    if not isinstance(source, dict):
        raise RecordRejected("_source: not an object")
    if source.get("offentliggoerelsestype") != "regnskab":
        return None
    documents = _documents(source.get("dokumenter"))
    types = {kind for kind, _, _ in documents}
    if any(map(_INTERIM.fullmatch, types)) or not types.intersection(_ANNUAL):
        return None
    return Filing(
        id=_matching(hit.get("_id"), _ID, "_id"),
        number=_number(source.get("cvrNummer")),
        period=_period(source.get("regnskab")),
        published=_published(source.get("offentliggoerelsesTidspunkt")),
        is_correction=source.get("omgoerelse") is True,
        is_liquidation=any(kind.endswith("LIKVIDATIONSREGNSKAB") for kind in types),
        documents=tuple(_addresses(documents, _XBRL)[:_MAX_DOCUMENTS]),
        pdf=next(iter(_addresses(documents, _PDF)), None),
    )


def changed_at(hit: Raw) -> datetime | None:
    """Returns when a hit last changed; None if it does not say."""
    source = hit.get("_source")
    text = source.get("sidstOpdateret") if isinstance(source, dict) else None
    return _moment(text)


#: Type, MIME type and address.
_Document = tuple[str, str, str]


def _documents(found: Any) -> list[_Document]:
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise RecordRejected("dokumenter: not a list of objects")
    names = ("dokumentType", "dokumentMimeType", "dokumentUrl")
    return [
        (str(kind).upper(), str(mime).lower(), str(url))
        for each in found
        for kind, mime, url in (map(each.get, names),)
    ]


def _addresses(documents: Sequence[_Document], mime: str) -> list[str]:
    return [
        url
        for wanted in _ANNUAL
        for kind, of, url in documents
        if kind == wanted and of == mime and _URL.fullmatch(url)
    ]


def _matching(value: Any, pattern: re.Pattern[str], name: str) -> str:
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise RecordRejected(f"{name}: missing or invalid")
    return value


def _number(value: Any) -> str:
    """Returns eight digits; the index has the number without leading zeros."""
    text = str(value) if type(value) is int else value
    if not isinstance(text, str) or not re.fullmatch(r"[0-9]{1,8}", text):
        raise RecordRejected("cvrNummer: not a registration number")
    return text.zfill(8)


def _period(accounts: Any) -> AccountsPeriod:
    found = accounts.get("regnskabsperiode") if isinstance(accounts, dict) else None
    if not isinstance(found, dict):
        raise RecordRejected("regnskab.regnskabsperiode: missing")
    days = []
    for name in ("startDato", "slutDato"):
        try:
            days.append(date.fromisoformat(str(found.get(name))[:10]))
        except ValueError:
            raise RecordRejected(f"regnskab.regnskabsperiode.{name}: not a date") from None
    if not date(1900, 1, 1) < days[0] <= days[1]:
        raise RecordRejected("regnskab.regnskabsperiode: it ends before it starts")
    return AccountsPeriod(start=str(days[0]), end=str(days[1]))


def _published(text: Any) -> str | None:
    at = _moment(text)
    return None if at is None else at.isoformat(timespec="seconds").replace("+00:00", "Z")


def _moment(text: Any) -> datetime | None:
    try:
        at = datetime.fromisoformat(text)
        return at.replace(tzinfo=at.tzinfo or UTC).astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        return None
