"""Documents say what the code does, and the code keeps the rules that documents state."""

import argparse
import ast
import importlib
import re
import subprocess
from collections.abc import Iterator
from datetime import time, timedelta
from pathlib import Path

import pytest
from pydantic import TypeAdapter
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings

from common.contracts import topology
from common.contracts.events import EventType
from common.contracts.topology import DELIVERIES_QUEUE, EVENTS_EXCHANGE
from common.messaging import requests
from common.messaging.requests import KNOWN, OF_GATEWAY, OWNER_EVENT, WEBHOOKS, Procedure
from common.runtime.public_port.rates import Rate
from dispatcher.http_sender import (
    MAX_BODY_SIZE,
    MAX_HEADERS,
    MAX_INTERIM_RESPONSES,
    MAX_RESPONSE_BYTES,
    SenderLimits,
)
from dispatcher.outcomes import Cause
from gateway.problems import PROBLEMS
from tests.builders.deliveries import dispatcher_settings as settings
from webhook_store.deliveries import CancelReason

ROOT = Path(__file__).parents[2]

# Each service's README lists exactly its settings and metrics

FAULTS = ROOT / "docs" / "resilience.md"
SERVICES = ("gateway", "lookup", "ingest", "webhook-registry", "dispatcher", "portal")
HEADINGS = ["What it does", "Messages", "Settings", "Metrics", "Runbook"]


def readme(service: str) -> str:
    return (ROOT / "services" / service / "README.md").read_text()


def settings_of(package: str) -> dict[str, FieldInfo]:
    """All settings of a service and of its commands by their names."""
    root = Path(importlib.import_module(package).__path__[0])
    files = [root / "settings.py", *root.glob("registers/*/*sync.py")]
    names = [".".join(file.relative_to(root.parent).with_suffix("").parts) for file in files]
    modules = [importlib.import_module(name) for name in names]
    classes = [found for one in modules for found in vars(one).values() if isinstance(found, type)]
    return {
        name.upper(): field
        # Of a setting that several have, the service's own wins.
        for settings in sorted(classes, key=lambda each: each.__name__ == "Settings")
        if issubclass(settings, BaseSettings)
        for name, field in settings.model_fields.items()
    }


def shown(field: FieldInfo) -> str:
    """A default as an operator would write it."""
    match field.default:
        case _ if field.is_required():
            return "required"
        case bool(value):
            return str(value).lower()
        case float(value):
            return f"{value:g}"
        case time() as value:
            return f"{value:%H:%M}"
        case timedelta() as value:
            return TypeAdapter(timedelta).dump_json(value).decode().strip('"')
        case Rate(count, window):
            return f"{count}/{'minute' if window == 60 else window}"
        case tuple(values):
            return ",".join(map(str, values)) or "none"
        case value:
            return str(value or "").removesuffix("/") or "none"


def test_the_readme_of_the_registry_lists_its_queues() -> None:
    for name in (WEBHOOKS.queue(), EVENTS_EXCHANGE, DELIVERIES_QUEUE):
        assert f"| `{name}`" in readme("webhook-registry")


def test_readmes_list_the_queues_and_exchanges_that_exist() -> None:
    known = {
        value
        for name, value in vars(topology).items()
        if isinstance(value, str) and name.endswith(("_QUEUE", "_EXCHANGE"))
    }
    procedures = [each for each in vars(requests).values() if isinstance(each, Procedure)]
    of_requests = {queue for procedure in procedures for queue in procedure.queues}
    tables = [
        table
        for service in SERVICES
        for table in re.findall(r"^\| queue.*(?:\n\|.*)+", readme(service), re.MULTILINE)
    ]
    first_cells = [row.split("|")[1] for table in tables for row in table.splitlines()]
    # A cell may also have the key of what is published.
    queues = r"`((?:rpc|registry|dispatcher|deliveries)\b[\w.]*)`"
    listed = {name for cell in first_cells for name in re.findall(queues, cell)}

    assert listed == known | of_requests
    assert len(procedures) == len({*map(id, OF_GATEWAY), id(KNOWN), id(OWNER_EVENT)})


@pytest.mark.parametrize("service", [each for each in SERVICES if each != "portal"])
def test_a_readme_has_every_command_of_its_service(service: str) -> None:
    package = service.replace("-", "_")
    parser = importlib.import_module(f"{package}.commands")._parser()

    commands = list(commands_of(parser, f"python -m {package}"))

    assert commands
    assert [each for each in commands if each not in readme(service)] == []


def commands_of(parser: argparse.ArgumentParser, prefix: str) -> Iterator[str]:
    """The commands of a parser, down to those without further ones."""
    choices = [
        each.choices for each in parser._actions if isinstance(each, argparse._SubParsersAction)
    ]
    if not choices:
        yield prefix
    for each in choices:
        for name, below in each.items():
            yield from commands_of(below, f"{prefix} {name}")


METRIC = re.compile(r"\b(?P<kind>Counter|Gauge|Histogram)\(\s*\"(?P<name>[a-z_]+)\"")


def metrics_in(*folders: Path) -> set[str]:
    """Names of the metrics that the code below the folders defines."""
    sources = (path.read_text() for folder in folders for path in folder.glob("**/*.py"))
    return {found["name"] for source in sources for found in METRIC.finditer(source)}


@pytest.mark.parametrize("service", SERVICES)
def test_a_readme_has_the_five_headings_in_order(service: str) -> None:
    headings = re.findall(r"^## (.+)$", readme(service), re.MULTILINE)

    assert headings == HEADINGS


@pytest.mark.parametrize("service", SERVICES)
def test_every_setting_is_in_the_readme_and_no_other(service: str) -> None:
    section = readme(service).split("## Settings")[1].split("## Metrics")[0]
    listed = set(re.findall(r"^\| `([A-Z_]+)` \|", section, re.MULTILINE))

    assert listed == settings_of(service.replace("-", "_")).keys()


@pytest.mark.parametrize("service", SERVICES)
def test_every_default_in_the_readme_is_that_of_the_code(service: str) -> None:
    section = readme(service).split("## Settings")[1].split("## Metrics")[0]
    listed = dict(re.findall(r"^\| `([A-Z_]+)` \| (.*?) \|", section, re.MULTILINE))
    defaults = {
        name: shown(field) for name, field in settings_of(service.replace("-", "_")).items()
    }

    # A value that is found out at the start is described.
    described = {"OTEL_SERVICE_NAME", "DOWNLOAD_DIR"}
    assert {
        name: (default, listed[name].strip("`").removesuffix("/"))
        for name, default in defaults.items()
        if default != listed[name].strip("`") and name not in described
    } == {}


def names_in_files() -> set[str]:
    """Variables that the code, the deployment and the tests read or set."""
    files = [ROOT / "Makefile"]
    for folder in ("services", "libs", "clients", "deploy", "tests", "bench"):
        files += [file for file in (ROOT / folder).glob("**/*") if file.suffix in SUFFIXES]
    text = "\n".join(file.read_text() for file in files if file.is_file())
    return set(re.findall(r"\b[A-Z]+(?:_[A-Z]+)+\b", text))


#: Of files with variables.
SUFFIXES = {"", ".py", ".yaml", ".sh"}
#: Of the kernel, and of OpenTelemetry's exporter.
NOT_OURS = {
    *("SO_REUSEPORT", "OTEL_TRACES_SAMPLER", "OTEL_RESOURCE_ATTRIBUTES"),
    *("OTEL_EXPORTER_OTLP_TIMEOUT", "OTEL_EXPORTER_OTLP_CERTIFICATE"),
}


def test_every_variable_that_a_guide_names_exists() -> None:
    known = {name for service in SERVICES for name in settings_of(service.replace("-", "_"))}
    known |= names_in_files() | NOT_OURS
    guides = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("docs/webhooks/*.md")]
    guides += [*ROOT.glob("deploy/**/*.md"), *ROOT.glob("services/*/*.md")]
    # The changelog also names what is no longer there.
    text = "\n".join(each.read_text() for each in guides if each.name != "CHANGELOG.md")

    assert set(re.findall(r"`([A-Z]+(?:_[A-Z]+)+)`", text)) - known == set()


@pytest.mark.parametrize("service", SERVICES)
def test_a_readme_lists_exactly_the_metrics_of_its_service(service: str) -> None:
    section = readme(service).split("## Metrics")[1].split("## Runbook")[0]
    rows = re.findall(r"^\| (`[^|]+) \|", section, re.MULTILINE)
    listed = {name for row in rows for name in re.findall(r"`([a-z_]+)`", row)}
    own = metrics_in(ROOT / "services" / service / "src")

    assert own - listed == set()
    assert listed - own - metrics_in(ROOT / "libs") == set()


# CONTRIBUTING.md names files and functions that exist, and the index of decisions is complete

CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()


def test_each_stop_of_the_walks_exists() -> None:
    named = re.findall(r"`((?:services|libs)/[\w/-]+\.py)` `([\w.]+)`", CONTRIBUTING)

    assert len(named) >= 20
    for path, name in named:
        scope: ast.AST | None = ast.parse((ROOT / path).read_text())
        for part in name.split("."):
            assert scope is not None
            found = (node for node in ast.walk(scope) if getattr(node, "name", None) == part)
            scope = next(found, None)
        assert scope is not None, f"{path} has no {name}"


def test_both_walks_have_at_most_ten_stops() -> None:
    stops = re.findall(r"^(\d+)\. `", CONTRIBUTING, re.MULTILINE)

    assert stops == [*map(str, range(1, 11))] * 2


def test_the_index_lists_every_decision_under_its_title() -> None:
    folder = ROOT / "docs" / "adr"
    index = re.findall(r"^- \[(\d{4})\]\((.+)\) (.+)$", (folder / "README.md").read_text(), re.M)

    assert index == [
        (file.name[:4], file.name, file.read_text().partition("\n")[0].partition(": ")[2])
        for file in sorted(folder.glob("[0-9]*.md"))
    ]


# A citation leads somewhere

CITED = re.compile(
    r"(?<![\w./{<*-])((?:docs|spec|services|libs|clients|deploy|tests|bench)/[\w./-]*\w"
    r"\.(?:md|py|yaml|toml|txt|in|sh|js|mjs|php|rb|go|java|cs))\b"
)
#: Of a document outside the repository.
SECTION = re.compile(r"\bspec(?:ification)? sections?\b", re.IGNORECASE)
#: A pattern of names, and the path of a page.
NO_CITATIONS = {
    "docs/adr/NNNN-the-decision-in-words.md",
    "docs/swagger-ui.js",
}


def test_no_tracked_file_cites_a_file_that_does_not_exist() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    tracked = set(filter(None, listed.stdout.decode().split("\0")))
    # Relative to a folder on the way, as in a package.
    known = {name[place:] for name in tracked for place in _starts(name)} | NO_CITATIONS
    wrong = []
    for name in sorted(tracked):
        try:
            text = (ROOT / name).read_text()
        except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
            continue
        cited = {found[1].removeprefix("./") for found in CITED.finditer(text)} - known
        # The changelog names what has gone.
        wrong += [f"{name}: {each}" for each in cited if name != "CHANGELOG.md"]
        wrong += [f"{name}: {each}" for each in SECTION.findall(text)]

    assert len(tracked) > 500
    assert wrong == []


def _starts(name: str) -> list[int]:
    return [0, *(place.end() for place in re.finditer("/", name))]


def test_quoted_figures_are_the_latest() -> None:
    page = (ROOT / "docs" / "scaling.md").read_text()
    _, _, section = page.partition("## Quoted figures\n")
    latest = (ROOT / "bench" / "results" / "latest.md").read_text()

    quoted = re.findall(r"^\| ([^|]+) \| ([0-9][^|]*) \|$", section, re.MULTILINE)

    assert len(quoted) > 5
    assert [name for name, value in quoted if f"| {name} | {value} |" not in latest] == []


def test_guides_name_only_types_of_events_that_exist() -> None:
    families = {type_.partition(".")[0] for type_ in EventType}
    word = re.compile(rf"`((?:{'|'.join(families)})\.(?:\w+_)?(?:{VERBS}))`")
    guides = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("*/*/*.md")]
    named = {name for each in guides for name in word.findall(each.read_text())}

    assert named == set(EventType)


#: The participles that types of events end in, and their like.
VERBS = "created|updated|changed|published|removed|ended|deleted|test|failing|disabled|enabled"


def test_every_problem_is_explained() -> None:
    text = (ROOT / "docs" / "problems.md").read_text()
    sections = re.findall(r"^## Status ([\d, and]+)$((?:\n(?!## ).*)*)", text, re.MULTILINE)
    explained = {
        code: statuses
        for statuses, section in sections
        for code in re.findall(r"^### (\w+)\n\n\S", section, re.MULTILINE)
    }

    assert explained.keys() == PROBLEMS.keys()
    assert all(str(PROBLEMS[code].status.value) in explained[code] for code in explained)


# The guide for receivers matches the dispatcher

GUIDE = (ROOT / "docs" / "webhooks" / "README.md").read_text()


def test_the_guide_explains_exactly_the_errors_of_attempts() -> None:
    section = GUIDE.split("| `error` |")[1].split("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    words = {word for row in rows for word in re.findall(r"`([a-z_]+)`", row)}

    assert words == {*Cause, *CancelReason}


def test_the_table_of_attempts_is_the_schedule() -> None:
    section = GUIDE.split("| attempt |")[1].split("\n\n")[0]
    rows = [line.split("|") for line in section.splitlines() if re.match(r"\| \d", line)]
    delays = settings().webhook_retry_delays

    assert [int(row[1]) for row in rows] == list(range(1, len(delays) + 2))
    assert [_span(row[2]) for row in rows[1:]] == list(delays)
    sums = [sum(delays[:number], timedelta()) for number in range(1, len(delays) + 1)]
    assert [_span(row[3]) for row in rows[1:]] == sums


def test_the_limits_are_those_of_the_sender() -> None:
    assert SenderLimits() == SenderLimits(timedelta(seconds=10), timedelta(seconds=5))
    assert settings().webhook_post_timeout == timedelta(seconds=10)
    assert settings().webhook_connect_timeout == timedelta(seconds=5)
    assert MAX_BODY_SIZE == 16 * 1024
    assert MAX_RESPONSE_BYTES == 256 * 1024
    assert f"256 KiB, {MAX_HEADERS:,} headers or {MAX_INTERIM_RESPONSES} interim" in GUIDE
    for words in ("within 10 seconds (5 to connect)", "at most 16 KiB"):
        assert words in GUIDE


def _span(text: str) -> timedelta:
    """`2 hours 36 minutes`."""
    units = {"minute": timedelta(minutes=1), "hour": timedelta(hours=1)}
    found = re.findall(r"(\d+) (minute|hour)s?", text)
    return sum((int(count) * units[unit] for count, unit in found), timedelta())


# Sentences for people are plain text

#: Descriptions of settings are for the tables of the READMEs.
SOURCES = [
    path
    for folder in ("services", "libs", "clients", "deploy/local")
    for path in (ROOT / folder).glob("**/*.py")
    if path.name != "settings.py"
]
#: Strings that are no sentences.
ALLOWED = {"`", r"[;,:]?(?: and)? `?data\b", "'’‘`´ʼ", "[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}"}
#: Names of decorators whose function's docstring is the help of a command.
COMMANDS = {"command", "callback"}


def sentences(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The strings of a module, of its docstrings those that a command line shows."""
    nodes = list(ast.walk(tree))
    docstrings = set()
    shows_module = any(
        isinstance(node, ast.keyword)
        and node.arg in ("description", "epilog")
        and isinstance(node.value, ast.Name)
        and node.value.id == "__doc__"
        for node in nodes
    )
    for node in nodes:
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            is_shown = shows_module if isinstance(node, ast.Module) else is_command(node)
            if not is_shown:
                docstrings.add(body[0].value)
    for node in nodes:
        match node:
            case ast.Constant(value=str(text)) if node not in docstrings:
                yield node.lineno, text


def is_command(node: ast.AST) -> bool:
    decorators = getattr(node, "decorator_list", ())
    calls = [one.func for one in decorators if isinstance(one, ast.Call)]
    return any(isinstance(call, ast.Attribute) and call.attr in COMMANDS for call in calls)


def test_no_message_has_raw_backticks() -> None:
    # A program that prints a sentence shows Markdown as it is written.
    assert [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for path in SOURCES
        for line, text in sentences(ast.parse(path.read_text()))
        if "`" in text and text not in ALLOWED
    ] == []


# Processes that share leases and due times share a clock: the database's (ADR 0017)

#: Packages and modules that compare times which other processes wrote.
SHARING = (
    "services/dispatcher/src",
    "services/webhook-registry/src",
    "services/lookup/src/lookup/app.py",
    "services/ingest/src/ingest/app.py",
    "services/ingest/src/ingest/publishing/publisher.py",
    "libs/common/src/common/leases.py",
    "services/ingest/src/ingest/publishing/outbox.py",
    "services/ingest/src/ingest/publishing/publisher.py",
    "services/ingest/src/ingest/publishing/publisher.py",
    "libs/register-store/src/register_store",
    "libs/webhook-store/src",
)
WALL_CLOCK = re.compile(r"\b(datetime\.(now|utcnow|today)|time\.time(_ns)?)\(")


def test_processes_that_share_leases_read_no_wall_clock_of_their_own() -> None:
    paths = [ROOT / path for path in SHARING]
    modules = [one for path in paths for one in ([path] if path.is_file() else path.rglob("*.py"))]

    assert all(path.exists() for path in paths)
    assert [str(one) for one in modules if WALL_CLOCK.search(one.read_text())] == []


def test_the_tests_that_the_table_of_faults_names_exist() -> None:
    named = set(re.findall(r"`(tests/[a-z0-9_/]+\.py|test_[a-z0-9_]+)`", FAULTS.read_text()))
    tests = list((ROOT / "tests").rglob("test_*.py"))
    files = {str(each.relative_to(ROOT)) for each in tests}
    functions = {
        name for each in tests for name in re.findall(r"def (test_\w+)\(", each.read_text())
    }

    assert len(named) > 10
    assert named - files - functions == set()
