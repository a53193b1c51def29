"""The messages to subscribers: a request to confirm, and the changes of a watchlist's companies.

Names in registers and of lists are data. Each value is one line without control characters; headers
are written by the standard library, which refuses line breaks.
"""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import EmailPolicy
from hashlib import sha256
from html import escape
from typing import Any, Final

from common.contracts.events import lines_of, title_of
from common.contracts.watchlists import CONFIRM_PATH, UNSUBSCRIBE_PATH, Digest
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
#: RFC 5322, 2.1.1.
_MAX_HEADER: Final = 950
_POLICY: Final = _Policy(linesep="\r\n")
_CONTROLS: Final = ("Cc", "Cf", "Cs", "Zl", "Zp")


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes that a message is about."""

    #: The public events, oldest first: at most those that are listed.
    listed: Sequence[Mapping[str, Any]]
    #: The number of all changes; a lower bound if `is_more`.
    total: int
    is_more: bool = False
    #: True if changes before these had expired before they could be sent.
    is_incomplete: bool = False


@dataclass(frozen=True, slots=True)
class Messages:
    """Composes messages; the same digest and range give the same message."""

    sender: Address
    #: The address of the API for browsers.
    public_url: str
    #: The address of the portal for browsers, or empty.
    portal_url: str

    def confirmation(self, digest: Digest, token: str, *, at: datetime) -> EmailMessage:
        """Returns the request to confirm: nothing in it was written by the customer."""
        link = self._link(CONFIRM_PATH, digest, token)
        text = (
            f"The customer {_line(digest.owner)} of this service asks to send news of companies\n"
            f"to {digest.address}.\n\n"
            f"To receive it, open this page and confirm:\n\n{link}\n\n"
            "The link is valid for 7 days. If you do not know of this, do nothing: there will be\n"
            "no news, and at most one such request a day.\n"
        )
        page = (
            f"<p>The customer {escape(_line(digest.owner))} of this service asks to send news of "
            f"companies to {escape(digest.address)}.</p>"
            f'<p><a href="{escape(link)}">Open the page to confirm</a></p>'
            "<p>The link is valid for 7 days. If you do not know of this, do nothing: there will "
            "be no news, and at most one such request a day.</p>"
        )
        message = self._message(digest, "Confirm your address for news of companies", at)
        message["Message-ID"] = self._message_id(digest, "confirmation")
        return _with_texts(message, text, page)

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
        number = f"over {changes.total:,} changes" if changes.is_more else _changes(changes.total)
        heading = f"{name}: {number}"
        message = self._message(digest, heading, at)
        message["Message-ID"] = self._message_id(digest, f"{sending.after}-{sending.until}")
        end = self._link(UNSUBSCRIBE_PATH, digest, token)
        message["List-Id"] = f"<{digest.watchlist_id}.{self.sender.domain}>"
        message["List-Unsubscribe"] = f"<{end}>"
        message["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
        links = {"Unsubscribe": end}
        if self.portal_url:
            links = {"The list": f"{self.portal_url}/watchlists/{digest.watchlist_id}", **links}
        return _with_texts(
            message, self._text(heading, changes, links), self._page(heading, changes, links)
        )

    def _text(self, heading: str, changes: Changes, links: Mapping[str, str]) -> str:
        lines = [heading, ""]
        for note in _notes(changes):
            lines += [note, ""]
        for event in changes.listed:
            lines += [_line(title_of(event)), *(f"  {_line(one)}" for one in lines_of(event))]
            lines += [f"  {self._company(event)}", ""]
        lines += [f"{label}: {link}" for label, link in links.items()]
        return "\n".join(lines) + "\n"

    def _page(self, heading: str, changes: Changes, links: Mapping[str, str]) -> str:
        parts = [f"<h1>{escape(heading)}</h1>", *(f"<p>{note}</p>" for note in _notes(changes))]
        for event in changes.listed:
            link = escape(self._company(event))
            lines = "<br>".join(escape(_line(one)) for one in lines_of(event))
            title = escape(_line(title_of(event)))
            parts.append(f'<p><a href="{link}"><b>{title}</b></a><br>{lines}</p>')
        parts += [f'<p><a href="{escape(link)}">{label}</a></p>' for label, link in links.items()]
        return "".join(parts)

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


def _changes(number: int) -> str:
    return counted(number, "change") if number else "no changes"


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
            f"The first {counted(len(changes.listed), 'change')}, and {least}{more:,} more: "
            "the list shows the latest ones."
        )
    return notes


def _line(text: str) -> str:
    """Returns a text as one line without control characters, cut to a maximum length."""
    kept = (" " if unicodedata.category(one) in _CONTROLS else one for one in text)
    line = " ".join("".join(kept).split())
    return line if len(line) <= _MAX_LINE else f"{line[:_MAX_LINE]}…"


def _with_texts(message: EmailMessage, text: str, page: str) -> EmailMessage:
    message.set_content(text, cte="quoted-printable")
    document = f'<!doctype html><html lang="en"><meta charset="utf-8"><body>{page}</body></html>'
    message.add_alternative(document, subtype="html", cte="quoted-printable")
    # Otherwise random, and the repetition of a message would be another one.
    message.set_boundary(f"=_{message['Message-ID'][1:33]}")
    return message
