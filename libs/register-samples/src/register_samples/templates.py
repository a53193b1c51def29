"""Documents with variables, which are read from `data/*.json`."""

import json
from collections.abc import Callable
from datetime import date
from importlib.resources import files
from typing import Any

#: A document or a record as its register writes it.
Document = dict[str, Any]
Variables = dict[str, Any]
_Part = Callable[[Variables], Any]


class Templates:
    """The templates of a file, by name.

    In a template `"$name"` is the value of a variable, and `"@part"` another template.
    `"@part:name"` is a template of a variable that has variables itself: of each item of a list,
    and null without a value. A list has no nulls. A key that ends in `?` is absent if its value is
    null or an empty list.
    """

    def __init__(self, name: str) -> None:
        text = (files("register_samples") / "data" / f"{name}.json").read_text("utf-8")
        self._parts = {key: self._compiled(each) for key, each in json.loads(text).items()}

    def fill(self, template: str, variables: Variables) -> Document:
        """Returns a template's document; variables without a value are null."""
        filled: Document = self._parts[template](variables)
        return filled

    def _compiled(self, template: Any) -> _Part:
        match template:
            case dict():
                return self._object(template)
            case list():
                return self._list(template)
            case str() if template.startswith("$"):
                return lambda variables: _plain(variables.get(template[1:]))
            case str() if template.startswith("@"):
                return self._other(*template[1:].split(":"))
        return lambda _variables: template

    def _object(self, template: Document) -> _Part:
        parts = [
            (key.rstrip("?"), key[-1] == "?", self._compiled(template[key])) for key in template
        ]

        def fill(variables: Variables) -> Document:
            filled = {}
            for key, is_optional, part in parts:
                value = part(variables)
                if not is_optional or (value is not None and value != []):
                    filled[key] = value
            return filled

        return fill

    def _list(self, template: list[Any]) -> _Part:
        parts = [self._compiled(each) for each in template]
        return lambda variables: [value for part in parts if (value := part(variables)) is not None]

    def _other(self, name: str, variable: str = "") -> _Part:
        if not variable:
            return lambda variables: self._parts[name](variables)

        def fill(variables: Variables) -> Any:
            part, value = self._parts[name], variables.get(variable)
            if isinstance(value, list | tuple):
                return [part({**variables, **each}) for each in value]
            return None if value is None else part({**variables, **value})

        return fill


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, date) else value
