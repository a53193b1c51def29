"""Records of an XML file of any size: its elements of one name."""

from collections.abc import Iterator
from itertools import chain
from typing import Any, Final
from xml.parsers import expat

from ingest.records.records import MAX_RECORD_SIZE, FileBroken, FileRecord

#: Between a namespace and the name of an element or attribute.
_SEPARATOR: Final = " "
#: Bytes that an element without attributes takes in memory.
_ELEMENT_SIZE: Final = 250


class XmlRecords:
    """Iterates over the elements of a name, wherever they are; namespaces are ignored.

    A record has an element's attributes as texts and its children as lists by their names; its own
    text is `#text`. Raises FileBroken, with the position, if the file is not well-formed, declares
    a document type, which could define entities without bound, or has no such element.
    """

    def __init__(
        self, parts: Iterator[bytes], element: str, *, max_size: int = MAX_RECORD_SIZE
    ) -> None:
        self._parts = parts
        self._element = element
        self._max_size = max_size
        self._parser = expat.ParserCreate(namespace_separator=_SEPARATOR)
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        self._parser.StartDoctypeDeclHandler = self._refuse
        #: Number of open elements of the record that is being read; 0 between records.
        self._depth = 0
        #: These elements, the innermost last; empty once the record is too large.
        self._open: list[dict[str, Any]] = []
        self._begin = self._size = 0
        self._found: list[FileRecord] = []

    def __iter__(self) -> Iterator[FileRecord]:
        is_empty, broken = True, None
        for part in chain(self._parts, (b"",)):
            try:
                self._parser.Parse(part, not part)
            except expat.ExpatError as fault:
                reason = expat.errors.messages[fault.code]
                broken = FileBroken(f"{reason}, at byte {self._parser.ErrorByteIndex}")
            except FileBroken as fault:
                broken = fault
            # Records before the damage are read.
            found, self._found = self._found, []
            is_empty = is_empty and not found
            yield from found
            if broken is not None:
                raise broken
        if is_empty:
            raise FileBroken(f"no element <{self._element}>")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        name = _local(name)
        if not self._depth and name != self._element:
            return
        self._depth += 1
        element: dict[str, Any] = {_local(key): value for key, value in attributes.items()}
        if self._depth == 1:
            self._begin, self._size = self._parser.CurrentByteIndex, 0
        elif self._open:
            self._open[-1].setdefault(name, []).append(element)
        if self._open or self._depth == 1:
            self._open.append(element)
        self._measure(_ELEMENT_SIZE + sum(map(len, attributes.values())))

    def _end(self, _name: str) -> None:
        if not self._depth:
            return
        self._depth -= 1
        content = self._open.pop() if self._open else None
        if content is not None and not content.get("#text", "-").strip():
            del content["#text"]
        if not self._depth:
            fault = f"more than {self._max_size:,} bytes" if content is None else ""
            self._found.append(FileRecord(f"byte {self._begin}", content, fault))

    def _text(self, text: str) -> None:
        if self._open:
            self._open[-1]["#text"] = self._open[-1].get("#text", "") + text
            self._measure(len(text))

    def _measure(self, size: int) -> None:
        self._size += size
        if self._size > self._max_size:
            self._open = []

    def _refuse(self, *_declaration: object) -> None:
        raise FileBroken("a document type is declared")


def _local(name: str) -> str:
    return name.rpartition(_SEPARATOR)[2]
