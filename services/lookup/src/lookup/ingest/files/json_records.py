"""Records out of JSON text of any size: arrays, search answers, pages in a row, JSON lines.

A parser of events (ijson) gives up at the first fault. Here the text is cut at the brackets where
a record ends, each record is parsed by itself, and after a broken one reading goes on where the
next seems to begin.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NoReturn

import orjson

from lookup.ingest.files.window import MAX_BLANK, MAX_PASSED, Found, Window
from lookup.ingest.records import FileBroken

#: A longer record is refused instead of being held.
MAX_RECORD_SIZE = 16 << 20

_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_NEXT_BRACKET = re.compile(rb'[^"{}\[\]]*+(?:' + _STRING + rb'[^"{}\[\]]*+)*+[{}\[\]]', re.DOTALL)
_OPENING = b"{["
_CLOSING = b"]}"
_BLANK = re.compile(rb"[\s,]*+")
_OTHER_VALUE = re.compile(rb"(?:" + _STRING + rb'|[^\s"{}\[\],:]++)(?=\s*+[,{\]])', re.DOTALL)
_RUBBISH = re.compile(rb'[^"{}\[\],]++')
#: How much text is at hand when rubbish is looked at.
_LOOK_AHEAD = 1 << 16
_OUTSIDE_STRING = re.compile(rb'["{}\[\]]')
_INSIDE_STRING = re.compile(rb'"|\\.', re.DOTALL)
_FIRST_KEY = re.compile(rb'\{\s*+("(?:[^"\\]|\\.)*+")')
_ANY_RECORD = re.compile(rb'[,\[]\s*+(?=\{\s*+")')
#: From the end of a record to the end of the next one's first key.
_SEAM = re.compile(rb'\}\s*+,\s*+\{\s*+"(?:[^"\\]|\\.)*+"')
#: Pages and JSON lines begin a line, where nothing inside them does.
_NEXT_LINE = re.compile(rb"\n(?=[{\[])")
#: More than the longest key of a shelf (see `_is_shelf`) with some white space.
_KEY_LENGTH = 64
_DEEPEST_SHELF = 2

_Side = Literal["in a list", "in the file"]


class JsonRecords:
    """Iterates over the records of a JSON text; broken ones come with their fault.

    Raises FileBroken, saying where, when the text ends inside a record or a list of them, or when
    more of it would be read twice than there is: a text of records that are never closed would cost
    the square of its length.
    """

    def __init__(self, window: Window, *, longest: int = MAX_RECORD_SIZE) -> None:
        self._window = window
        self._longest = longest
        #: A record that has not ended by then, while another seems to begin, has lost its end.
        self._suspicious = longest // 16
        #: Bytes that were looked at and left to be read again.
        self.read_twice = 0
        #: The last sound record of a list: the next one probably begins with the same key.
        self._sound = b""
        #: What stood between the last two of them that were measured.
        self._seam = b""

    def __iter__(self) -> Iterator[Found]:
        window = self._window
        while self._skip_blank():
            if window.data[window.at] == ord("["):
                window.at += 1
                yield from self._list()
            elif window.data[window.at] == ord("{"):
                yield from self._object()
            else:
                yield self._stray("in the file")

    def _object(self) -> Iterator[Found]:
        """An object beside others is a record, or a page that keeps records on a shelf inside."""
        end, enclosing = self._scan("in the file")
        if end is None or not enclosing:
            yield self._record(end, "in the file")
        else:
            self._window.at = end
            yield from self._list(in_page=True)
            self._leave(enclosing)

    def _list(self, *, in_page: bool = False) -> Iterator[Found]:
        window = self._window
        while self._skip_blank():
            first = window.data[window.at]
            if first in _OPENING:
                yield self._usual() or self._record(self._scan("in a list")[0], "in a list")
            elif first != ord("]"):
                yield self._stray("in a list")
            else:
                place = f"byte {window.offset}"
                window.at += 1
                # In a page, what follows its list has a name.
                if not (in_page and self._skip_blank() and window.data[window.at] == ord("{")):
                    return
                yield Found(place, None, "the list is closed before its last record")
        raise FileBroken(f"the file ends inside a list of records, at byte {window.offset}")

    def _usual(self) -> Found | None:
        """The record that begins here, if it ends where the seam to the next one is found again.

        That is quicker than counting brackets. It is as safe: no beginning of an object is one.
        """
        window = self._window
        if not self._seam:
            return None
        seam = window.data.find(self._seam, window.at, window.at + _LOOK_AHEAD)
        if seam < 0:
            return None
        text = window.data[window.at : seam + 1]
        try:
            value = orjson.loads(text)
        except orjson.JSONDecodeError:
            return None
        if not isinstance(value, dict) or len(text) > self._longest:
            return None
        found = Found(f"byte {window.offset}", value, text=text)
        window.at = seam + 1
        self._sound = text
        return found

    def _skip_blank(self) -> bool:
        """Moves to the next byte that counts; False when there is none."""
        window = self._window
        begin = window.offset
        while True:
            if window.offset - begin > MAX_BLANK:
                raise FileBroken(f"nothing but white space follows byte {begin}")
            blank = _BLANK.match(window.data, window.at)
            window.at = blank.end() if blank else window.at
            if window.pending or not window.more():
                return window.pending > 0

    def _scan(self, side: _Side) -> tuple[int | None, int]:
        """Where the brackets that begin here are closed, and 0.

        Or where a shelf of records begins inside, and how many brackets enclose it. Or None: the
        text ends, the record is too long, or it has lost its end.
        """
        window, depth = self._window, 0
        data, at = window.data, window.at
        shelf_depth = _DEEPEST_SHELF if side == "in the file" else 0
        keys: list[bytes] = []
        while True:
            bracket = _NEXT_BRACKET.match(data, at)
            if bracket is None:
                at -= window.at
                if not self._grow(side):
                    return None, 0
                data = window.data
                continue
            at = bracket.end()
            if data[at - 1] in _OPENING:
                if 0 < depth <= shelf_depth:
                    keys[depth - 1 :] = [_key(data, at - 1)]
                    if data[at - 1] == ord("[") and _is_shelf(keys):
                        return at, depth
                depth += 1
            elif depth > 1:
                depth -= 1
            else:
                return at, 0

    def _grow(self, side: _Side) -> bool:
        """Brings more of a record to hand, unless it is hopeless."""
        window = self._window
        before = window.pending
        if before > self._longest or not window.more():
            return False
        newly_suspicious = before < self._suspicious <= window.pending
        return not newly_suspicious or self._restart(side) is None

    def _record(self, end: int | None, side: _Side) -> Found:
        window = self._window
        place = f"byte {window.offset}"
        if end is None:
            return self._unfinished(side)
        text = window.data[window.at : end]
        if len(text) > self._longest:
            window.at = end
            return Found(place, None, self._too_long)
        try:
            value = decode(text)
            fault = "it is not an object"
        except ValueError as error:
            value, fault = None, f"it is not JSON: {error}"
        if isinstance(value, dict):
            window.at = end
            self._sound = text
            seam = _SEAM.match(window.data, end - 1)
            self._seam = seam[0] if seam else self._seam
            return Found(place, value, text=text)
        # A bracket too many, or a quote or bracket lost, makes a record swallow what follows it.
        restart = self._restart(side, before=end)
        self._charge(end, restart)
        window.at = end if restart is None else restart
        return Found(place, None, fault)

    def _unfinished(self, side: _Side) -> Found:
        window = self._window
        place = f"byte {window.offset}"
        restart = self._restart(side)
        if restart is not None:
            self._charge(len(window.data), restart)
            window.at = restart
            return Found(place, None, "it does not end before the next record begins")
        if window.pending > self._longest:
            self._pass_over()
            return Found(place, None, self._too_long)
        raise FileBroken(f"the file ends inside the record that begins at {place}")

    @property
    def _too_long(self) -> str:
        return f"it is longer than {self._longest:,} bytes"

    def _restart(self, side: _Side, *, before: int | None = None) -> int | None:
        """Where, after what begins here, a record seems to begin."""
        window = self._window
        end = len(window.data) if before is None else before
        pattern = _NEXT_LINE if side == "in the file" else self._next_in_list()
        match = pattern.search(window.data, window.at, end)
        return None if match is None else match.end()

    def _next_in_list(self) -> re.Pattern[bytes]:
        key = _FIRST_KEY.match(self._sound) or _FIRST_KEY.match(self._window.data, self._window.at)
        if key is None:
            return _ANY_RECORD
        return re.compile(rb"[,\[]\s*+(?=\{\s*+" + re.escape(key[1]) + rb"\s*+:)")

    def _stray(self, side: _Side) -> Found:
        """What stands where a record should: a value of another type, or rubbish."""
        window = self._window
        stray = Found(f"byte {window.offset}", None, "it is not an object")
        if side == "in the file" and window.data[window.at] not in _CLOSING:
            window.take_line(longest=0)
            return stray
        while window.pending < _LOOK_AHEAD and window.more():
            pass
        value = _OTHER_VALUE.match(window.data, window.at)
        end = self._restart(side) if value is None else value.end()
        if end is None:
            rubbish = _RUBBISH.match(window.data, window.at)
            end = window.at + 1 if rubbish is None else rubbish.end()
            self._charge(len(window.data), end)
        window.at = end
        return stray

    def _charge(self, looked_at: int, restart: int | None) -> None:
        """Notes that what was looked at, up to this index, is read again from `restart` on."""
        self.read_twice += 0 if restart is None else looked_at - restart
        if self.read_twice > self._longest + self._window.offset:
            raise FileBroken(f"too many records have no end, at byte {self._window.offset}")

    def _pass_over(self) -> None:
        """Leaves a record behind that is too long to be held."""
        window, depth, inside_string = self._window, 0, False
        begin = window.offset
        while True:
            if window.offset - begin > MAX_PASSED:
                raise FileBroken(f"the record that begins at byte {begin} has no end")
            pattern = _INSIDE_STRING if inside_string else _OUTSIDE_STRING
            token = pattern.search(window.data, window.at)
            if token is None:
                # The last byte may be the first half of an escape.
                window.at = max(window.at, len(window.data) - 1)
                self._require_more("a record that is too long")
                continue
            window.at = token.end()
            if token[0] == b'"':
                inside_string = not inside_string
            elif not inside_string:
                depth += 1 if token[0] in _OPENING else -1
                if depth == 0:
                    return

    def _leave(self, depth: int) -> None:
        """Passes over the rest of a page, whose records have been read."""
        window = self._window
        while depth:
            bracket = _NEXT_BRACKET.match(window.data, window.at)
            if bracket is None:
                self._require_more("a page, after its records")
                continue
            begin = bracket.end() - 1
            if window.data[begin] not in _OPENING:
                depth -= 1
            elif window.data[begin - 1 : begin] == b"\n":
                # This page has lost its end, and here the next begins.
                window.at = begin
                return
            else:
                depth += 1
            window.at = bracket.end()

    def _require_more(self, inside: str) -> None:
        window = self._window
        if window.pending > self._longest or not window.more():
            raise FileBroken(f"the file ends inside {inside}, at byte {window.offset}")


def decode(text: bytes) -> object:
    """Parses JSON; raises ValueError. Halves of surrogate pairs, which orjson refuses, are kept."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        if b"\\u" not in text:
            raise
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def encode(value: Mapping[str, Any]) -> bytes:
    """The JSON of what `decode` gave; halves of surrogate pairs are kept."""
    return json.dumps(value).encode()


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a value of JSON")


def _key(data: bytes, bracket: int) -> bytes:
    """The key whose value begins with this bracket."""
    begin = max(0, bracket - _KEY_LENGTH)
    closing_quote = data.rfind(b'"', begin, bracket)
    return data[data.rfind(b'"', begin, closing_quote) + 1 : closing_quote]


def _is_shelf(keys: list[bytes]) -> bool:
    """Whether the registers' answers keep their records under these keys.

    They are Peppol's, Elasticsearch's, and those of HAL, whose inner key tells the kind.
    """
    return keys in ([b"bc"], [b"hits", b"hits"]) or (len(keys) == 2 and keys[0] == b"_embedded")
