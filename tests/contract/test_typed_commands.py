"""Commands and numbers of the guides are those of the programs, the manifests and the alerts.

tests/integration/test_typed_guides.py types the commands of our programs, with servers.
"""

import importlib
import os
import re
import shlex
import shutil
import subprocess
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

import release
from common import mongo
from common.messaging import consumer
from common.runtime.settings import DatabaseSettings
from dispatcher.settings import Settings
from tests.contract.manifests.guides import GUIDES, commands
from tests.contract.manifests.metrics import exposed_metrics, unknown_in
from tests.contract.manifests.reading import KUBERNETES, ROOT, of_kind, rendered
from tests.contract.test_alerts import ALERTS
from tests.contract.test_manifests import with_kubectl

PLACEHOLDERS = {
    "<time>": "2026-11-20T00:00:00Z",
    "<the backup's time>": "2026-11-20T00:00:00Z",
    "<country>": "no",
    "$country": "no",
    "<number>": "999999999",
    "<source>…": "no-enheter",
    "<source>": "no-enheter",
    "…": "no-enheter records.json",
}
OURS = re.compile(r"python -m (gateway|lookup|ingest|webhook_registry|dispatcher) (.+)")
#: A server that nobody runs: kubectl refuses what it does not understand before it calls one.
NOWHERE = "http://127.0.0.1:1"
RUNBOOK = (ROOT / "docs" / "runbook.md").read_text()
OPERATIONS = (ROOT / "docs" / "operations.md").read_text()
GUIDE = (KUBERNETES / "README.md").read_text()
UNITS = {"%": 0.01, "th": 0.01, "ms": 0.001, "s": 1, "minutes": 60, "hours": 3600, "days": 86400}
UNITS |= {"m": 60, "h": 3600, "d": 86400}
#: Where the runbook's numbers come from that no alert has.
CONSTANTS = {
    "MessagesAreHeld": {consumer.HOLD_TIMEOUT},
    "ClockIsWrong": {mongo._WRONG},
    "LookupBudgetBurnsFast": {0.25, 0.001},
    "LookupBudgetBurnsSteadily": {0.001},
    "EventBudgetBurnsFast": {30.0},
    "RegisterHasNewParts": {200.0},
}


def of(*programs: str) -> list[str]:
    """The commands of these programs in all guides, each once."""
    return sorted({each.text for each in commands() if each.program in programs})


def bare(text: str) -> str:
    """A command with words for its placeholders, and without what may be left out."""
    text = re.sub(r" \[[^\]]*\]| \| --all| > \S+", "", text)
    for placeholder, value in PLACEHOLDERS.items():
        text = text.replace(placeholder, value)
    return re.sub(r"<[^>]*>", "one", text)


def test_a_command_of_a_guide_is_understood() -> None:
    typed = [each.text for each in commands() if OURS.match(each.text)]
    for text in typed:
        _python, _m, service, *arguments = shlex.split(bare(text))
        importlib.import_module(f"{service}.commands")._parser().parse_args(arguments)

    for text in of("deploy/k8s/run"):
        _run, *arguments = shlex.split(bare(text))
        if arguments and arguments != ["release"]:
            assert release.parser().parse_args(arguments).overlay

    targets = set(re.findall(r"^([\w -]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    made = {word for text in of("make") for word in shlex.split(text)[1:]}
    wanted = {word for word in made if "=" not in word and not word.startswith("-")}
    assert wanted - {name for line in targets for name in line.split()} == set()


@with_kubectl
@pytest.mark.parametrize("typed", [each for each in of("kubectl", "for") if "kubectl" in each])
def test_a_command_of_kubectl_is_understood(tmp_path: Path, typed: str) -> None:
    program = tmp_path / "kubectl"
    program.write_text(f'#!/bin/sh\nexec {shutil.which("kubectl")} --server={NOWHERE} "$@"\n')
    program.chmod(0o755)
    line = f"{typed} true" if typed.endswith(" --") else bare(typed)
    path = f"{tmp_path}:{os.environ['PATH']}"

    done = subprocess.run(
        ["bash", "-c", line],
        cwd=ROOT,
        env={**os.environ, "PATH": path, "KUBECONFIG": os.devnull},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    local = "kubectl kustomize" in typed or "kind load" in typed
    assert local or "refused" in done.stderr, done.stderr


@with_kubectl
def test_what_kubectl_is_told_to_use_exists() -> None:
    documents = [*rendered("overlays/local"), *rendered("components/operators")]
    exists = {f"{each['kind'].lower()}/{each['metadata']['name']}" for each in documents}
    exists |= {each.replace("deployment/", "deploy/") for each in exists}
    exists |= {
        f"persistentvolumeclaim/{claim['metadata']['name']}-{each['metadata']['name']}-{number}"
        for each in of_kind(documents, "StatefulSet")
        for claim in each["spec"].get("volumeClaimTemplates", [])
        for number in range(2)
    }
    typed = "\n".join([*of("kubectl", "for"), *(guide.read_text() for guide in GUIDES)])

    named = set(re.findall(r"\bexec (?:-it )?([a-z]+/[^\s`]+)", typed))
    kinds = r"deploy|statefulset|service|job|cronjob"
    typed = "\n".join(of("kubectl", "for"))
    named |= set(re.findall(rf"(?<![\w/])(?:{kinds})/[\w-]+(?![\w/-])", typed))
    named |= {f"statefulset/{name}" for name in re.findall(r"\bstatefulset (\w+)", typed)}
    for names in re.findall(r"for claim in ([^;]+);", typed):
        named |= {f"persistentvolumeclaim/{name}" for name in names.split()}

    assert len(named) >= 8
    assert named - exists == set()


def test_the_steps_of_a_release_change_every_version(tmp_path: Path) -> None:
    projects = [
        file.relative_to(ROOT)
        for folder in ("libs", "clients", "services")
        for file in ROOT.glob(f"{folder}/*/pyproject.toml")
    ]
    for folder in ("deploy", "clients"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    for file in (*projects, Path("CHANGELOG.md")):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, tmp_path / file)
    steps = [each.text for each in commands() if re.match(r"old=|sed -i |git grep ", each.text)]
    [old, new] = re.findall(r"=(\S+)", steps[0])

    script = "\n".join(["git init --quiet", "git add --all", *steps])
    subprocess.run(["bash", "-euc", script], cwd=tmp_path, check=True, timeout=60)

    assert len(steps) == 4
    for file in projects:
        assert f'version = "{new}"' in (tmp_path / file).read_text()
    left = rf"(company-registry/[\w-]+:|RELEASE:-|image.version=\"){re.escape(old)}"
    for file in tmp_path.glob("deploy/**/*"):
        if file.is_file() and file.suffix != ".json":
            assert not re.search(left, file.read_text(errors="ignore")), file
    assert re.search(rf"## Unreleased\n\n## {new} - ", (tmp_path / "CHANGELOG.md").read_text())


# --- Numbers -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALERTS)
def test_the_numbers_that_an_alert_is_explained_with_are_its_own(name: str) -> None:
    section = RUNBOOK.split(f"\n### {name}\n")[1]
    means = section.split("**Means**: ")[1].split("\n")[0]
    rule = f"{ALERTS[name]['expr']} {ALERTS[name].get('for')}"
    own = set(CONSTANTS.get(name, ()))
    for number, unit in re.findall(r"(\d+(?:\.\d+)?)([mhd]\b)?", rule):
        own |= {float(number) * UNITS.get(unit, 1), round(1 - float(number), 6)}

    explained = re.findall(r"(\d[\d.,]*\d|\d)(?:xx)? ?(%|(?:th|ms|s|minutes|hours|days)\b)?", means)
    for number, unit in explained:
        value = float(number.replace(",", "")) * UNITS.get(unit, 1)
        assert number in ("5", "503") or any(abs(value - each) < 1e-9 for each in own), number


@with_kubectl
def test_the_guides_have_the_numbers_of_settings_and_manifests() -> None:
    delays = TypeAdapter(list[timedelta]).validate_python(
        Settings.model_fields["webhook_retry_delays"].default.split(",")
    )
    hours, minutes = divmod(sum(delays, timedelta()) // timedelta(minutes=1), 60)
    documents = rendered("components/operators")
    [backup] = of_kind(documents, "CronJob")
    [broker] = of_kind(documents, "RabbitmqCluster")
    [members] = of_kind(documents, "MongoDBCommunity")
    [kept] = of_kind(documents, "PersistentVolumeClaim")
    claims = members["spec"]["statefulSet"]["spec"]["volumeClaimTemplates"]
    data, logs = (_size(each["spec"]["resources"]["requests"]["storage"]) for each in claims)
    shutdown_delays = {
        each["data"].get("SHUTDOWN_DELAY")
        for each in of_kind(documents, "ConfigMap")
        if each["metadata"]["name"].startswith(("gateway-settings", "portal-settings"))
    }
    millicores = {
        each["spec"]["metrics"][0]["resource"]["target"]["averageValue"]
        for each in of_kind(rendered("components/hpa"), "HorizontalPodAutoscaler")
    }
    posts = Settings.model_fields["webhook_max_posts_per_webhook"].default
    of_host = Settings.model_fields["webhook_max_posts_per_host"].default

    assert f"after the last retry ({hours} h {minutes} min)" in RUNBOOK
    assert f"After {consumer.MAX_TRIES} failed tries" in RUNBOOK
    assert re.fullmatch(r"\d+ \*/6 \* \* \*", backup["spec"]["schedule"])
    assert "**RPO: 6 hours**" in OPERATIONS
    assert "every six hours, and keeps two weeks" in GUIDE
    assert (
        f"({_size(broker['spec']['persistence']['storage'])}; {data} and {logs} of logs)" in GUIDE
    )
    assert f"({_size(kept['spec']['resources']['requests']['storage'])})" in GUIDE
    assert shutdown_delays == {"PT5S"}
    assert "serve for 5 s more (`SHUTDOWN_DELAY`)" in GUIDE
    assert millicores == {"700m"}
    assert "by 700 millicores per pod" in GUIDE
    for text in (GUIDE, OPERATIONS):
        assert re.search(
            rf"`WEBHOOK_MAX_POSTS`, (and )?{posts} per webhook, {of_host} per host", text
        )
    assert DatabaseSettings.model_fields["mongo_primary_timeout"].default == "PT30S"
    assert "`MONGO_PRIMARY_TIMEOUT` (30 s)" in OPERATIONS


def _size(quantity: Any) -> str:
    return f"{quantity[:-2]} {quantity[-2:]}B"


def test_what_the_runbook_names_exists() -> None:
    spans = set(re.findall(r"`([^`\n]+)`", RUNBOOK))
    sources = "\n".join(
        file.read_text()
        for folder in ("services", "libs")
        for file in ROOT.glob(f"{folder}/*/src/**/*.py")
    )
    selecting = re.compile(r"(sum|max|min|rate|histogram_quantile)\b.*\(|\w+\{")
    queries = [each for each in spans if selecting.match(each)]
    events = {each for each in spans if re.fullmatch(r"[a-z]+\.[a-z_]+", each)}
    words = {each for each in spans if re.fullmatch(r"[a-z]+(_[a-z]+)+", each)}
    settings = {each for each in spans if re.fullmatch(r"[A-Z]+(_[A-Z]+)+", each)}
    of_first_hour = re.findall(r"`([^`\n]+)`", (ROOT / "docs" / "first-hour.md").read_text())
    named = [*spans, *of_first_hour]
    alerts = {each for each in named if re.fullmatch(r"([A-Z][a-z]+){2,}", each)}
    exposed = {each.removesuffix("_bucket").removesuffix("_count") for each in exposed_metrics()}

    assert len(queries) >= 8
    assert [fault for each in queries for fault in unknown_in(each)] == []
    assert len(events) >= 8
    of_the_balancer = (ROOT / "deploy" / "compose" / "haproxy.cfg").read_text()
    queues = {"webhooks.receipts", "dispatcher.events"}
    logged = sources + of_the_balancer
    assert {each for each in events if f'"{each}"' not in logged} - queues == set()
    assert {each for each in words - exposed if each not in sources} == set()
    assert {each for each in settings if each.lower() not in sources} == set()
    assert alerts - ALERTS.keys() == set()


@with_kubectl
def test_the_runbook_names_the_service_that_does_it() -> None:
    logged = re.findall(r"`([a-z]+\.[a-z_]+)` in the log of (\w[\w-]*)", RUNBOOK)
    reading = re.findall(r"May (\w+) read `(\w+)\.(\w+)`", RUNBOOK)
    refused = re.findall(r"`unroutable` in (\w+)", RUNBOOK)
    commands_of = re.findall(r"python -m (\w+) ([a-z-]+)", RUNBOOK)

    assert logged
    assert reading
    assert refused
    named = {service for _, service in logged if service != "any"}
    for event, service in logged:
        assert service == "any" or f'"{event}"' in sources_of(service), (event, service)
    for service, database, collection in reading:
        assert (database, collection) in granted(service), (service, database, collection)
    for service in refused:
        assert "Publisher" in sources_of(service), service
    for package, command in commands_of:
        assert f'"{command}"' in sources_of(package.replace("_", "-")), (package, command)
    assert named <= {path.name for path in (ROOT / "services").iterdir()}


def sources_of(service: str) -> str:
    """The code of a service, empty if there is none of this name."""
    files = (ROOT / "services" / service).glob("src/**/*.py")
    return "\n".join(file.read_text() for file in files)


def granted(service: str) -> set[tuple[str, str]]:
    """The single collections that a service's user of MongoDB may read."""
    [mongodb] = of_kind(rendered("components/operators"), "MongoDBCommunity")
    names = {
        role["name"]
        for user in mongodb["spec"]["users"]
        if user["name"] == service
        for role in user["roles"]
    }
    return {
        (privilege["resource"]["db"], privilege["resource"]["collection"])
        for role in mongodb["spec"]["security"]["roles"]
        if role["role"] in names
        for privilege in role["privileges"]
        if "find" in privilege["actions"] and "collection" in privilege["resource"]
    }
