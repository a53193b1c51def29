"""Records of JSON text of any size: arrays, search responses, concatenated pages, JSON lines.

An event parser stops at the first error. This reader cuts the text at the brackets that
close a record, parses each record by itself, and resumes after a broken one where the next seems to
begin.
"""

import re
from collections.abc import Iterator
from typing import Literal

import orjson

from lookup.records.json_text import decode, is_list_of_records, key_of
from lookup.records.records import FileBroken
from lookup.records.streams import MAX_BLANK, MAX_PASSED, Found, Window

#: A longer record is refused instead of being buffered.
MAX_RECORD_SIZE = 16 << 20

_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_NEXT_BRACKET = re.compile(rb'[^"{}\[\]]*+(?:' + _STRING + rb'[^"{}\[\]]*+)*+[{}\[\]]', re.DOTALL)
_OPENING = b"{["
_CLOSING = b"]}"
_BLANK = re.compile(rb"[\s,]*+")
_OTHER_VALUE = re.compile(rb"(?:" + _STRING + rb'|[^\s"{}\[\],:]++)(?=\s*+[,{\]])', re.DOTALL)
_RUBBISH = re.compile(rb'[^"{}\[\],]++')
#: Size of the text that is examined for the next record.
_LOOK_AHEAD = 1 << 16
_OUTSIDE_STRING = re.compile(rb'["{}\[\]]')
_INSIDE_STRING = re.compile(rb'"|\\.', re.DOTALL)
_FIRST_KEY = re.compile(rb'\{\s*+("(?:[^"\\]|\\.)*+")')
_ANY_RECORD = re.compile(rb'[,\[]\s*+(?=\{\s*+")')
#: From the end of a record to the end of the next one's first key.
_SEAM = re.compile(rb'\}\s*+,\s*+\{\s*+"(?:[^"\\]|\\.)*+"')
#: Pages and JSON lines begin at the start of a line; nothing inside a record does.
_NEXT_LINE = re.compile(rb"\n(?=[{\[])")
_DEEPEST_SHELF = 2

_Side = Literal["in a list", "in the file"]


class JsonRecords:
    """Iterates over the records of a JSON text; broken ones are yielded with their error.

    Raises FileBroken, with the position, if the text ends inside a record or a list, or if more
    than its length would be read twice: a text of unclosed records would otherwise take quadratic
    time.
    """

    def __init__(self, window: Window, *, max_size: int = MAX_RECORD_SIZE) -> None:
        self._window = window
        self._max_size = max_size
        #: A record of this size that seems to contain the beginning of another has lost its end.
        self._suspicious = max_size // 16
        #: Bytes that were examined and are to be read again.
        self.read_twice = 0
        #: The last intact record of a list: the next one probably begins with the same key.
        self._sound = b""
        #: The text between the last two records that were measured.
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
        """Yields the records of an object, which is one itself or a page with a list of them."""
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
                # After its list, a page continues with a key.
                if not (in_page and self._skip_blank() and window.data[window.at] == ord("{")):
                    return
                yield Found(place, None, "a list ends before its last record")
        raise FileBroken(f"the file ends inside a list of records, at byte {window.offset}")

    def _usual(self) -> Found | None:
        """Returns the record that begins here, if it ends at the next occurrence of the separator.

        That is faster than counting brackets, and as safe: no prefix of an object is an object.
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
        if not isinstance(value, dict) or len(text) > self._max_size:
            return None
        found = Found(f"byte {window.offset}", value, text=text)
        window.at = seam + 1
        self._sound = text
        return found

    def _skip_blank(self) -> bool:
        """Moves to the next significant byte; False if there is none."""
        window = self._window
        begin = window.offset
        while True:
            if window.offset - begin > MAX_BLANK:
                raise FileBroken(f"only white space follows byte {begin}")
            blank = _BLANK.match(window.data, window.at)
            window.at = blank.end() if blank else window.at
            if window.pending or not window.more():
                return window.pending > 0

    def _scan(self, side: _Side) -> tuple[int | None, int]:
        """Returns the end of the object that begins here, and 0.

        Or the beginning of a list of records inside it, and the number of enclosing brackets. None
        if the text ends, or the record is too long or has lost its end.
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
                    keys[depth - 1 :] = [key_of(data, at - 1)]
                    if data[at - 1] == ord("[") and is_list_of_records(keys):
                        return at, depth
                depth += 1
            elif depth > 1:
                depth -= 1
            else:
                return at, 0

    def _grow(self, side: _Side) -> bool:
        """Reads more of a record, unless it is certainly broken."""
        window = self._window
        before = window.pending
        if before > self._max_size or not window.more():
            return False
        newly_suspicious = before < self._suspicious <= window.pending
        return not newly_suspicious or self._restart(side) is None

    def _record(self, end: int | None, side: _Side) -> Found:
        window = self._window
        place = f"byte {window.offset}"
        if end is None:
            return self._unfinished(side)
        text = window.data[window.at : end]
        if len(text) > self._max_size:
            window.at = end
            return Found(place, None, self._too_long)
        try:
            value = decode(text)
            fault = "not an object"
        except ValueError as error:
            value, fault = None, f"not JSON: {error}"
        if isinstance(value, dict):
            window.at = end
            self._sound = text
            seam = _SEAM.match(window.data, end - 1)
            self._seam = seam[0] if seam else self._seam
            return Found(place, value, text=text)
        # An extra bracket, or a lost quote or bracket, makes a record swallow those after it.
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
            return Found(place, None, "no end before the next record begins")
        if window.pending > self._max_size:
            self._pass_over()
            return Found(place, None, self._too_long)
        raise FileBroken(f"the file ends inside the record at {place}")

    @property
    def _too_long(self) -> str:
        return f"longer than {self._max_size:,} bytes"

    def _restart(self, side: _Side, *, before: int | None = None) -> int | None:
        """Returns the index, after the record that begins here, where the next seems to begin."""
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
        """Reads a value in the place of a record: one of another type, or garbage."""
        window = self._window
        stray = Found(f"byte {window.offset}", None, "not an object")
        if side == "in the file" and window.data[window.at] not in _CLOSING:
            window.take_line(max_size=0)
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
        """Counts the examined text, up to this index, that is read again from `restart`."""
        self.read_twice += 0 if restart is None else looked_at - restart
        if self.read_twice > self._max_size + self._window.offset:
            raise FileBroken(f"too many records without an end, at byte {self._window.offset}")

    def _pass_over(self) -> None:
        """Skips a record that is too long to be buffered."""
        window, depth, inside_string = self._window, 0, False
        begin = window.offset
        while True:
            if window.offset - begin > MAX_PASSED:
                raise FileBroken(f"the record at byte {begin} has no end")
            pattern = _INSIDE_STRING if inside_string else _OUTSIDE_STRING
            token = pattern.search(window.data, window.at)
            if token is None:
                # The last byte may be the first half of an escape sequence.
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
        """Skips the rest of a page, whose records have been read."""
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
                # This page has lost its end, and the next one begins.
                window.at = begin
                return
            else:
                depth += 1
            window.at = bracket.end()

    def _require_more(self, inside: str) -> None:
        window = self._window
        if window.pending > self._max_size or not window.more():
            raise FileBroken(f"the file ends inside {inside}, at byte {window.offset}")
