"""The OpenAPI document as one HTML page, with a form to try each lookup."""

import json
import re
from html import escape
from typing import Any

from gateway.adapters.http.openapi.guide import GUIDE, MEANING

Node = dict[str, Any]

_CODE = re.compile(r"`([^`]+)`")


def page(document: Node) -> str:
    """A page that loads everything from this host, without inline script or style."""
    view = _View(document)
    title = escape(document["info"]["title"])
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n"
        f'<meta name="description" content="{escape(document["info"]["summary"])}">\n'
        '<link rel="icon" href="docs/icon.svg" type="image/svg+xml">\n'
        '<link rel="stylesheet" href="docs/style.css">\n'
        '<script src="docs/script.js" defer></script>\n</head>\n<body>\n'
        f"{view.contents()}\n<main>\n{view.heading()}\n{view.guide()}\n{view.operations()}\n"
        f"{view.answers()}\n{view.schemas()}\n</main>\n</body>\n</html>\n"
    )


class _View:
    """The parts of the page, in the order in which they are read."""

    def __init__(self, document: Node) -> None:
        self._document = document
        self._operations = [
            (path, method, operation)
            for path, methods in document["paths"].items()
            for method, operation in methods.items()
            if "operationId" in operation
        ]

    def contents(self) -> str:
        guide = "".join(_link(_slug(heading), heading) for heading, _ in GUIDE)
        operations = "".join(
            _link(operation["operationId"], path, method=method)
            for path, method, operation in self._operations
        )
        schemas = "".join(
            _link(f"schema-{name}", name) for name in self._document["components"]["schemas"]
        )
        answers = "".join(
            _link(f"answer-{name}", name) for name in self._document["components"]["responses"]
        )
        return (
            f"<nav><p>{escape(self._document['info']['title'])}</p><ul>{guide}</ul>"
            f"<p>Paths</p><ul>{operations}</ul><p>Answers</p><ul>{answers}</ul>"
            f"<p>Shapes</p><ul>{schemas}</ul></nav>"
        )

    def heading(self) -> str:
        info = self._document["info"]
        return (
            f"<header><h1>{escape(info['title'])} <small>{escape(info['version'])}</small></h1>"
            f"<p>{escape(info['summary'])} As an OpenAPI document: "
            '<a href="openapi.json">openapi.json</a>.</p>'
            '<p><label>API key for these forms <input id="key" type="password" autocomplete="off" '
            'placeholder="none: anonymous"></label></p></header>'
        )

    def guide(self) -> str:
        sections = [
            f'<section id="{_slug(heading)}"><h2>{escape(heading)}</h2>'
            + "".join(f"<p>{_text(paragraph)}</p>" for paragraph in paragraphs)
            + (_problem_table() if heading == "Problems" else "")
            + "</section>"
            for heading, paragraphs in GUIDE
        ]
        return "\n".join(sections)

    def operations(self) -> str:
        return "\n".join(self._operation(*each) for each in self._operations)

    def _operation(self, path: str, method: str, operation: Node) -> str:
        parameters = [self._resolved(each) for each in operation.get("parameters", [])]
        is_plain = method == "get" and all(each["in"] == "query" for each in parameters)
        can_be_tried = is_plain and path.startswith("/api")
        asked = _form(path, parameters) if can_be_tried else _parameter_table(parameters)
        return (
            f'<section id="{operation["operationId"]}" class="operation">'
            f"<h2><b>{method.upper()}</b> <code>{escape(path)}</code></h2>"
            f"<p>{_text(operation['summary'])}.</p>{asked}{_body(operation)}"
            f"<h3>Answers</h3><ul>{self._outcomes(operation['responses'])}</ul></section>"
        )

    def _outcomes(self, responses: Node) -> str:
        items = []
        for status, reference in responses.items():
            words = f"<b>{status}</b> {_text(self._resolved(reference)['description'])}"
            target = reference.get("$ref", "").rpartition("/")[2]
            link = (
                f'<a href="#answer-{target}">{words}</a>'
                if target
                else words + _examples(reference)
            )
            items.append(f'<li class="s{status[0]}">{link}</li>')
        return "".join(items)

    def answers(self) -> str:
        return "\n".join(
            f'<section id="answer-{name}" class="answer"><h2>{escape(name)}</h2>'
            f"<p>{_text(response['description'])}</p>"
            f"{_header_list(response.get('headers', {}))}{_examples(response)}</section>"
            for name, response in self._document["components"]["responses"].items()
        )

    def schemas(self) -> str:
        shapes = self._document["components"]["schemas"]
        return "\n".join(_shape(name, shape) for name, shape in shapes.items())

    def _resolved(self, node: Node) -> Node:
        if "$ref" not in node:
            return node
        found: Node = self._document
        for step in node["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        return found


def _form(path: str, parameters: list[Node]) -> str:
    rows = "".join(
        f'<tr><td><label for="{_field_id(path, p)}"><code>{p["name"]}</code></label>'
        f"{'<em>required</em>' if p.get('required') else ''}</td>"
        f"<td>{_input(_field_id(path, p), p)}</td><td>{_text(p['description'])}</td></tr>"
        for p in parameters
    )
    table = f"<h3>Parameters</h3><table>{rows}</table>" if rows else ""
    return (
        f'<form data-path="{escape(path)}">{table}'
        '<p><button>Try it</button></p><pre class="curl" hidden></pre>'
        '<pre class="result" hidden aria-live="polite"></pre></form>'
    )


def _parameter_table(parameters: list[Node]) -> str:
    if not parameters:
        return ""
    rows = "".join(
        f"<tr><td><code>{p['name']}</code>{'<em>required</em>' if p.get('required') else ''}</td>"
        f"<td>{p['in']}</td><td>{_text(p['description'])}</td></tr>"
        for p in parameters
    )
    return f"<h3>Parameters</h3><table>{rows}</table>"


def _body(operation: Node) -> str:
    if "requestBody" not in operation:
        return ""
    [content] = operation["requestBody"]["content"].values()
    return f"<h3>Body: {_type(content['schema'])}</h3>{_examples(operation['requestBody'])}"


def _field_id(path: str, parameter: Node) -> str:
    return _slug(f"{path} {parameter['name']}")


def _input(field: str, parameter: Node) -> str:
    name, schema = escape(parameter["name"]), parameter["schema"]
    choices = schema.get("enum") or schema.get("items", {}).get("enum")
    if choices is None:
        # Of the searches of `/api` only one may be given: only the last is filled in.
        example = escape(str(parameter.get("example", "")))
        is_given = parameter.get("required") or parameter["name"] == "search"
        value = f' value="{example}"' if is_given else ""
        return f'<input id="{field}" name="{name}" placeholder="{example}"{value}>'
    many = " multiple size=3" if schema["type"] == "array" else ""
    first = "" if many or parameter.get("required") else "<option value=''></option>"
    options = "".join(f"<option>{escape(choice)}</option>" for choice in choices)
    return f'<select id="{field}" name="{name}"{many}>{first}{options}</select>'


def _examples(response: Node) -> str:
    return "".join(
        _example(media_type, caption, value)
        for media_type, content in response.get("content", {}).items()
        for caption, value in _examples_of(content)
    )


def _examples_of(content: Node) -> list[tuple[str, Any]]:
    named = content.get("examples", {}).values()
    return [
        *((example["summary"], example["value"]) for example in named),
        *([("", content["example"])] if "example" in content else []),
    ]


def _example(media_type: str, caption: str, value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
    return (
        f"<details><summary><code>{escape(media_type)}</code> {_text(caption)}</summary>"
        f"<pre>{escape(text)}</pre></details>"
    )


def _header_list(headers: Node) -> str:
    names = ", ".join(f"<code>{escape(name)}</code>" for name in headers)
    return f"<p>Headers: {names}</p>" if names else ""


def _problem_table() -> str:
    rows = "".join(
        f"<tr><td><code>{kind.code}</code></td><td>{_text(meaning)}</td></tr>"
        for kind, meaning in MEANING.items()
    )
    return f"<table><tr><th>code</th><th>meaning</th></tr>{rows}</table>"


def _shape(name: str, shape: Node) -> str:
    rows = "".join(
        f"<tr><td><code>{escape(field)}</code></td><td>{_type(part)}</td>"
        f"<td>{_text(part.get('description', ''))}</td></tr>"
        for field, part in shape.get("properties", {}).items()
    )
    body = f"<table>{rows}</table>" if rows else f"<p>{_type(shape)}</p>"
    return f'<section id="schema-{name}" class="shape"><h2>{escape(name)}</h2>{body}</section>'


def _type(schema: Node) -> str:
    """A short description of a schema; referenced schemas are linked."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f'<a href="#schema-{name}">{name}</a>'
    if "enum" in schema:
        return " | ".join(f"<code>{escape(choice)}</code>" for choice in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(_type(option) for option in schema["anyOf"])
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    words = [_type_word(kind, schema) for kind in kinds]
    return " or ".join(words)


def _type_word(kind: str, schema: Node) -> str:
    if kind == "array":
        return f"list of {_type(schema['items'])}"
    return str(schema.get("format", kind)) if kind == "string" else kind


def _link(target: str, text: str, *, method: str = "") -> str:
    prefix = f"<b>{method.upper()}</b> " if method else ""
    return f'<li><a href="#{target}">{prefix}{escape(text)}</a></li>'


def _text(text: str) -> str:
    """Plain text with `code` marks."""
    return _CODE.sub(r"<code>\1</code>", escape(text, quote=False))


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
