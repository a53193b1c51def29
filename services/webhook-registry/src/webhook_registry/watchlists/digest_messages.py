"""The messages to subscribers: a request to confirm, and the changes of a watchlist's companies.

Names in registers and of lists are data. Each value is one line without control characters; headers
are written by the standard library, which refuses line breaks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import EmailPolicy
from hashlib import sha256
from html import escape
from typing import Any, Final

from common.contracts.events import EventType
from common.contracts.watchlists import CONFIRM_PATH, UNSUBSCRIBE_PATH, Digest
from common.domain.appearance import document
from common.domain.change_words import Line, day, in_words
from common.domain.displayed import in_line
from common.domain.sentences import counted
from webhook_store.digests import Range

#: Changes that a message lists; it says how many more there are.
MAX_LISTED: Final = 200
#: Maximum characters of a line of the text: a value in it may be a list of names.
_MAX_LINE: Final = 400
#: Of a subject: longer ones are cut off by mail programs.
_MAX_SUBJECT: Final = 120


class _Policy(EmailPolicy):
    """Leaves addresses in headers whole.

    Without a space to fold them at they would be encoded, which mail programs do not undo there.
    """

    def fold_binary(self, name: str, value: str) -> bytes:
        """Returns the lines of a header."""
        if name in _WHOLE and len(value) < _MAX_HEADER:
            return f"{name}: {value}\r\n".encode("ascii")
        return super().fold_binary(name, value)


_WHOLE: Final = ("List-Unsubscribe", "List-Id", "Message-ID")
#: Of a link that ends everything of an owner to an address.
EVERYTHING: Final = "&everything=true"
#: RFC 5322, 2.1.1.
_MAX_HEADER: Final = 950
_POLICY: Final = _Policy(linesep="\r\n")


#: The grave things that events say, the worst first, with the words for a number of them and the
#: look of each.
_GRAVE: Final = {
    "bankrupt": ("bankrupt", "bad"),
    "ended": ("ended", "muted"),
    "under_liquidation": ("under liquidation", "wait"),
    "under_reconstruction": ("under reconstruction", "wait"),
    "removed": ("removed by the register", "muted"),
}
#: Types of the other events, the worst first; those that are not named follow.
_ORDER: Final = (
    EventType.COMPANY_STATUS_CHANGED,
    EventType.OWNERS_CHANGED,
    EventType.COMPANY_UPDATED,
    EventType.COMPANY_CREATED,
)


def gravity(event: Mapping[str, Any]) -> str:
    """Returns the grave thing that an event says of a company, such as `bankrupt`, or nothing."""
    if event["type"] == EventType.COMPANY_REMOVED:
        return "removed"
    if event["type"] != EventType.COMPANY_STATUS_CHANGED:
        return ""
    status = next(
        (change["new"] for change in event["data"]["changes"] if change["field"] == "status"), ""
    )
    return str(status) if status in _GRAVE else ""


def rank(event: Mapping[str, Any]) -> int:
    """Returns the place of an event in an order with the worst first."""
    if grave := gravity(event):
        return list(_GRAVE).index(grave)
    place = _ORDER.index(event["type"]) if event["type"] in _ORDER else len(_ORDER)
    return len(_GRAVE) + place


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes that a message is about."""

    #: The public events, the worst first: at most those that are listed.
    listed: Sequence[Mapping[str, Any]]
    #: The number of all changes; a lower bound if `is_more`.
    total: int
    #: The number of all changes by their gravity.
    grave: Mapping[str, int] = field(default_factory=dict)
    is_more: bool = False
    #: True if changes before these had expired before they could be sent.
    is_incomplete: bool = False

    @property
    def summary(self) -> str:
        """The numbers of changes, the worst first: `1 bankrupt, 3 other changes`."""
        parts = [
            f"{self.grave[name]:,} {words}"
            for name, (words, _) in _GRAVE.items()
            if self.grave.get(name)
        ]
        others = max(0, self.total - sum(self.grave.values()))
        if others or self.is_more or not parts:
            noun = "other change" if parts else "change"
            number = counted(others, noun) if others else f"no {noun}s"
            parts.append(f"more than {number}" if self.is_more else number)
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Messages:
    """Composes messages; the same digest and range give the same message."""

    sender: Address
    #: The address of the API for browsers.
    public_url: str
    #: The address of the portal for browsers, or empty.
    portal_url: str
    #: The zone of the times in messages.
    zone: tzinfo = UTC

    def confirmation(self, digest: Digest, token: str, *, at: datetime) -> EmailMessage:
        """Returns the request to confirm: nothing in it was written by the customer."""
        link = self._link(CONFIRM_PATH, digest, token)
        customer, address = escape(_line(digest.owner)), escape(digest.address)
        subject = "Confirm your address for news of companies"
        refusal = self._link(UNSUBSCRIBE_PATH, digest, token) + EVERYTHING
        text = (
            f"The customer {_line(digest.owner)} of this service asks to send news of companies\n"
            f"to {digest.address}.\n\n"
            f"To receive it, open this page and confirm:\n\n{link}\n\n"
            "The link is valid for 7 days. If you do not know of this, do nothing: there will be\n"
            "no news, and at most one such request a day.\n\n"
            f"To refuse everything of this customer:\n\n{refusal}\n"
        )
        page = (
            f'<div class="card"><h1>Receive news of companies?</h1><p>The customer {customer} of '
            f"this service asks to send news of companies to {address}.</p>"
            f'<p><a href="{escape(link)}"><b>Open the page to confirm</b></a></p>'
            '<p class="hint">The link is valid for 7 days. If you do not know of this, do nothing: '
            "there will be no news, and at most one such request a day.</p>"
            f'<p class="hint"><a href="{escape(refusal)}">Refuse everything of this customer</a>'
            "</p></div>"
        )
        message = self._message(digest, subject, at)
        message["Message-ID"] = self._message_id(digest, "confirmation")
        return _with_texts(message, text, document(subject, page))

    def news(  # noqa: PLR0913 (the parts of a message)
        self,
        digest: Digest,
        token: str,
        name: str,
        sending: Range,
        changes: Changes,
        *,
        at: datetime,
    ) -> EmailMessage:
        """Returns the message about the changes of the list that is called `name`."""
        name = _line(name)
        subject = f"{_headed(changes.summary)} – {name}"
        message = self._message(digest, subject, at)
        message["Message-ID"] = self._message_id(digest, f"{sending.after}-{sending.until}")
        end = self._link(UNSUBSCRIBE_PATH, digest, token)
        message["List-Id"] = f"<{digest.watchlist_id}.{self.sender.domain}>"
        message["List-Unsubscribe"] = f"<{end}>"
        message["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
        links = {"Unsubscribe": end, "Unsubscribe from everything of this sender": end + EVERYTHING}
        if self.portal_url:
            links = {"The list": f"{self.portal_url}/watchlists/{digest.watchlist_id}", **links}
        page = self._page(name, changes, links)
        return _with_texts(
            message, self._text(subject, changes, links), document(escape(subject), page)
        )

    def _text(self, heading: str, changes: Changes, links: Mapping[str, str]) -> str:
        lines = [heading, ""]
        for note in _notes(changes):
            lines += [note, ""]
        for event in changes.listed:
            words = in_words(event)
            said = (one.text for one in words.brief.lines)
            told = filter(None, (self._about(event), words.unit, *said))
            lines += [_line(words.title), *(f"  {_line(one)}" for one in told)]
            lines += [f"  {self._company(event)}", ""]
        lines += [f"{label}: {link}" for label, link in links.items()]
        return "\n".join(lines) + "\n"

    def _page(self, name: str, changes: Changes, links: Mapping[str, str]) -> str:
        parts = [f'<h1>{escape(name)}</h1><p class="hint">{_headed(changes.summary)}</p>']
        parts += [f'<p class="card">{note}</p>' for note in _notes(changes)]
        parts += [self._shown(event) for event in changes.listed]
        ends = [f'<a href="{escape(link)}">{label}</a>' for label, link in links.items()]
        return "".join([*parts, f'<p class="foot">{" · ".join(ends)}</p>'])

    def _shown(self, event: Mapping[str, Any]) -> str:
        """Returns an event in HTML."""
        words = in_words(event)
        company, heading, about, unit = (
            escape(_line(one))
            for one in (words.company, words.heading, self._about(event), words.unit)
        )
        look = _GRAVE.get(gravity(event), ("", ""))[1]
        link = f'<a href="{escape(self._company(event))}">{company}</a>'
        head = f'{link} <span class="state state-{look}">{heading}</span>'
        told = " · ".join(map(_said, words.brief.lines))
        return (
            f'<div class="card"><p class="head">{head}</p><p class="hint">{about}</p>'
            + (f"<p>{unit}</p>" if unit else "")
            + (f"<p>{told}</p>" if told else "")
            + "</div>"
        )

    def _about(self, event: Mapping[str, Any]) -> str:
        """Returns the number of the company, and the time of the event."""
        at = datetime.fromisoformat(event["occurred_at"]).astimezone(self.zone)
        time = f"{day(at.date().isoformat())}, {at:%H:%M} {at.tzname()}"
        return f"{event['country'].upper()} {event['vat']}, {time}"

    def _company(self, event: Mapping[str, Any]) -> str:
        base = self.portal_url or f"{self.public_url}/api"
        return f"{base}/companies/{event['country']}/{event['vat']}"

    def _link(self, path: str, digest: Digest, token: str) -> str:
        return f"{self.public_url}{path.format(digest_id=digest.id)}?token={token}"

    def _message(self, digest: Digest, subject: str, at: datetime) -> EmailMessage:
        message = EmailMessage(policy=_POLICY)
        message["From"] = self.sender
        message["To"] = digest.address
        message["Subject"] = subject if len(subject) <= _MAX_SUBJECT else f"{subject[:119]}…"
        message["Date"] = at
        # No out-of-office replies (RFC 3834).
        message["Auto-Submitted"] = "auto-generated"
        return message

    def _message_id(self, digest: Digest, part: str) -> str:
        """Returns the same id for every repetition, by which receivers know one (RFC 5322)."""
        name = sha256(f"{digest.id}/{part}".encode()).hexdigest()[:32]
        return f"<{name}@{self.sender.domain}>"


def _headed(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _said(line: Line) -> str:
    """Returns a line about a change in HTML: what changed, and how."""
    label, old, new = (escape(_line(one or "")) for one in (line.label, line.old, line.new))
    gone = f'<span class="old">{old}</span>' if old and new else old
    values = " → ".join(filter(None, (gone, new)))
    return f"{label}: {values}" if values else label


def _notes(changes: Changes) -> list[str]:
    notes = []
    if changes.is_incomplete:
        notes.append(
            "Earlier changes are not listed: messages were delayed until the service did not "
            "keep them any more. Look the companies up to see them as they are."
        )
    more = changes.total - len(changes.listed)
    if more > 0:
        least = "more than " if changes.is_more else ""
        notes.append(
            f"Listed are {counted(len(changes.listed), 'change')}, the worst first, and not "
            f"{least}{more:,} more: the list shows the latest ones."
        )
    return notes


def _line(text: str) -> str:
    return in_line(text, _MAX_LINE)


def _with_texts(message: EmailMessage, text: str, page: str) -> EmailMessage:
    message.set_content(text, cte="quoted-printable")
    message.add_alternative(page, subtype="html", cte="quoted-printable")
    # Otherwise random, and the repetition of a message would be another one.
    message.set_boundary(f"=_{message['Message-ID'][1:33]}")
    return message
