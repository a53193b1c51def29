"""Arguments as agents send them: under other names, as JSON text, numbers for texts.

An unclear argument is refused in this server's own words: a misspelt filter that was dropped would
answer another question than the agent's.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime
from difflib import get_close_matches
from typing import Any, Final

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS, CallToolResult, GetPromptResult, InputRequiredResult
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from company_registry.spreadsheets import COUNTRIES

#: Arguments that clients add themselves, to any tool: metadata of the protocol, as LangChain passes
#: it, and what n8n knows of its own workflow.
ADDED_BY_CLIENTS: Final = frozenset(
    {"_meta", "toolCallId", "sessionId", "action", "chatInput", "tool"}
)

#: By argument, its other names: those of earlier releases, and those of other tools. A tool's own
#: argument is never taken for another one.
OTHER_NAMES: Final[Mapping[str, Sequence[str]]] = {
    "company": ("identifier", "id", "query", "name"),
    "companies": ("company", "identifiers", "ids", "identifier", "id"),
    "query": ("words", "name", "q"),
    "id": ("company", "identifier"),
}

_CRASHED: Final = (
    "The tool failed, and the fault is this server's. Tell the user; other calls may work."
)

#: Characters of a given value in a message.
_MAX_SHOWN: Final = 50

_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
#: Wider than a time of the API, by what a model may leave out: the seconds, the offset, all.
_MOMENT: Final = re.compile(
    rf"{_DAY.pattern}"
    r"(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?)?"
)

#: The requirement on a value, by the type of pydantic's error.
_WORDS: Final[Mapping[str, str]] = {
    "missing": "is required",
    "extra_forbidden": "is not known",
    "string_type": "must be a text",
    "string_too_short": "must not be empty",
    "string_too_long": "must have at most {max_length} characters",
    "too_short": "must not be empty",
    "too_long": "must have at most {max_length} entries",
    "greater_than_equal": "must be {ge} or more",
    "less_than_equal": "must be {le} or less",
    "literal_error": "must be {expected}",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_parsing_size": "must be a smaller number",
    "int_from_float": "must be a whole number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "list_type": "must be a list",
    "model_type": "must be an object with fields",
    "model_attributes_type": "must be an object with fields",
    "value_error": "{error}",
}


class ArgumentServer(MCPServer):
    """A server that reads arguments before its tools do, and has its own words for faults."""

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Calls a tool. Raises ToolError."""
        tool = self._tool_manager.get_tool(name)
        if tool is None:
            known = [each.name for each in self._tool_manager.list_tools()]
            raise ToolError(_unknown("There is no tool", name, known))
        try:
            given = read_arguments(tool.parameters, arguments)
            return await super().call_tool(name, given, context)
        except UnexpectedToolError as error:
            raise UnexpectedToolError(_CRASHED) from error
        except ToolError as error:
            cause = error.__cause__
            if isinstance(cause, ValidationError):
                raise ToolError(_told(cause.errors(include_url=False))) from None
            if isinstance(cause, ToolError):
                # Its own words, without those of the library before them.
                raise cause from cause.__cause__
            raise

    async def get_prompt(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        context: Context[Any, Any] | None = None,
    ) -> GetPromptResult | InputRequiredResult:
        """Returns a prompt. Raises MCPError."""
        prompts = {one.name: one.arguments or [] for one in await self.list_prompts()}
        try:
            if name not in prompts:
                raise ToolError(_unknown("There is no prompt", name, prompts))
            schema = {"properties": {one.name: {"type": "string"} for one in prompts[name]}}
            given = read_arguments(schema, arguments or {})
            for each in prompts[name]:
                if each.required and each.name not in given:
                    raise ToolError(f"{each.name} is required.")
        except ToolError as error:
            raise MCPError(INVALID_PARAMS, str(error)) from None
        return await super().get_prompt(name, given, context)


def read_arguments(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a call's arguments under a tool's own names, in its types. Raises ToolError.

    `schema` is the tool's schema of its arguments.
    """
    known: Mapping[str, Any] = schema["properties"]
    given: dict[str, Any] = {}
    for name, value in arguments.items():
        # Absent in other words, as languages with optional values send it.
        if value is None or (name not in known and name in ADDED_BY_CLIENTS):
            continue
        own = _own_name(name, known)
        if own in given:
            raise ToolError(f"Give {own} once: {name} is another name for it.")
        given[own] = _value(value, known[own], schema.get("$defs", {}))
    return given


def _own_name(name: str, known: Iterable[str]) -> str:
    if name in known:
        return name
    own = next((each for each in known if name in OTHER_NAMES.get(each, ())), None)
    if own is None:
        raise ToolError(_unknown("There is no argument", name, known))
    return own


def _value(value: Any, schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Any:
    """Returns a value in the type that a schema gives, if it can only be meant so."""
    for each in _types(schema, definitions):
        match each, value:
            case {"type": "array", "items": items}, _:
                entries = _entries(value, items, definitions)
                return [_value(one, items, definitions) for one in entries]
            case {"properties": properties}, dict():
                return _record(value, properties, definitions)
            case {"enum": [*words]}, str():
                word = "_".join(value.lower().split())
                return word if word in words else value
            case {"type": "string"}, int() if not isinstance(value, bool):
                return str(value)
            case {"type": "string"}, float() if value.is_integer():
                return str(int(value))
            case _:
                pass
    return value


def _types(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Sequence[Any]:
    """Returns the schemas of which a value has one."""
    if "$ref" in schema:
        return [definitions[schema["$ref"].rpartition("/")[2]]]
    return schema.get("anyOf", [schema])  # type: ignore[no-any-return]


def _entries(value: Any, items: Mapping[str, Any], definitions: Mapping[str, Any]) -> list[Any]:
    """Returns the entries of a list that may be JSON as a text, or one entry alone."""
    if isinstance(value, str):
        with suppress(ValueError, RecursionError):
            value = json.loads(value) if value.lstrip()[:1] in ("[", "{") else value
    if isinstance(value, str) and any("enum" in one for one in _types(items, definitions)):
        value = [word for word in value.split(",") if word.strip()]
    return value if isinstance(value, list) else [value]


def _record(
    value: Mapping[str, Any], properties: Mapping[str, Any], definitions: Mapping[str, Any]
) -> dict[str, Any]:
    """Returns an object without what is null. Raises ToolError for an unknown member."""
    given = {name: one for name, one in value.items() if one is not None}
    strange = next((name for name in given if name not in properties), None)
    if strange is not None:
        raise ToolError(_unknown("A record has no field", strange, properties))
    return {name: _value(one, properties[name], definitions) for name, one in given.items()}


def _unknown(beginning: str, name: str, known: Iterable[str]) -> str:
    """Returns a message about an unknown name, with the nearest known one and all of them."""
    found = get_close_matches(name[:_MAX_SHOWN].lower(), list(known), 1)
    nearest = f"; did you mean {found[0]}?" if found else "."
    return f"{beginning} {shown(name)}{nearest} Known are {', '.join(known)}."


def shown(value: object) -> str:
    """Returns a given value for a message: one line of printable characters, cut."""
    given = str(value)
    text = "".join(letter if letter.isprintable() else " " for letter in given[:_MAX_SHOWN])
    text += "…" if len(given) > _MAX_SHOWN else ""
    return repr(text) if isinstance(value, str) else text


def _told(faults: Sequence[ErrorDetails]) -> str:
    return " ".join(f"{_place(fault['loc'])} {_fault(fault)}." for fault in faults[:5])


def _place(path: Sequence[int | str]) -> str:
    """Returns where a fault is, such as `records[0].name`."""
    names = (f"[{each}]" if isinstance(each, int) else f".{each}" for each in path)
    return "".join(names).removeprefix(".")


def _fault(fault: ErrorDetails) -> str:
    words = _WORDS.get(fault["type"], "cannot be read")
    told = words.format(**fault.get("ctx", {}))
    is_absent = fault["type"] in ("missing", "string_too_short", "too_short", "too_long")
    return told if is_absent else f"{told}, not {shown(fault['input'])}"


def country_meant(value: Any) -> Any:
    """Returns `dk` or `no` for the name or the code of a country. Raises ValueError."""
    if not isinstance(value, str):
        return value
    country = COUNTRIES.get(value.strip().casefold())
    if country is None:
        raise ValueError("must be dk (Denmark) or no (Norway), or be left out for both")
    return country


def day_meant(value: Any) -> date | None:
    """Returns a day, such as `2026-01-31`. Raises ValueError."""
    if value is None:
        return None
    try:
        if not _DAY.fullmatch(str(value).strip()):
            raise ValueError
        return date.fromisoformat(str(value).strip())
    except ValueError:
        raise ValueError("must be a day such as 2026-01-31") from None


def time_meant(value: Any) -> datetime | None:
    """Returns a time, in UTC unless it says otherwise; that of a day is its beginning.

    Raises ValueError.
    """
    if value is None:
        return None
    try:
        text = str(value).strip().upper()
        if not _MOMENT.fullmatch(text):
            raise ValueError
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise ValueError(
            "must be a time such as 2026-11-20T08:00:00Z, or a day such as 2026-11-20"
        ) from None


def since_meant(value: Any) -> date | datetime | None:
    """Returns a day, whose beginning is that of its country, or a time. Raises ValueError."""
    is_day = value is not None and _DAY.fullmatch(str(value).strip())
    return day_meant(value) if is_day else time_meant(value)


def split(values: Any) -> Any:
    """Returns a list whose entries have no commas, as ids have none."""
    if not isinstance(values, list):
        return values
    parts = [one.split(",") if isinstance(one, str) else [one] for one in values]
    return [one for each in parts for one in each]
