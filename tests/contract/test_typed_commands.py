"""Commands and numbers of the guides are those of the programs, the manifests and the alerts."""

import importlib
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import TypeAdapter

from common import mongo_clock
from common.messaging import consumer
from common.runtime.settings import DatabaseSettings
from dispatcher.settings import Settings
from releases import __main__ as releases
from tests.contract.manifests.guides import GUIDES, commands
from tests.contract.manifests.metrics import exposed_metrics, unknown_in
from tests.contract.manifests.reading import KUBERNETES, ROOT, base_files, of_kind, rendered

SERVICES = ("gateway", "lookup", "webhook_registry", "dispatcher")
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
OURS = re.compile(rf"python -m ({'|'.join(SERVICES)}) (.+)")
#: A server that nobody runs: kubectl refuses what it does not understand before it calls one.
NOWHERE = "http://127.0.0.1:1"
#: The commands of MongoDB's shell, whose collections and fields a test of the stores has.
SHELL = {
    "db.stats()",
    "db.adminCommand({replSetResizeOplog: 1, size: Double(51200)})",
    "db.webhooks.find({match_keys: /&/}, {owner: 1, url: 1})",
    "db.recoveries.find({expires_at: null})",
}
#: Where the guide's numbers come from that no alert has.
CONSTANTS = {
    "MessagesAreHeld": {consumer.HOLD_TIMEOUT},
    "ClockIsWrong": {mongo_clock._WRONG},
    "LookupBudgetBurnsFast": {0.25, 0.001},
    "LookupBudgetBurnsSteadily": {0.001},
    "EventBudgetBurnsFast": {30.0},
}
UNITS = {"%": 0.01, "th": 0.01, "ms": 0.001, "s": 1, "minutes": 60, "hours": 3600, "days": 86400}
UNITS |= {"m": 60, "h": 3600, "d": 86400}


def of(*programs: str) -> list[str]:
    """The commands of these programs in all guides, each once."""
    return sorted({each.text for each in commands() if each.program in programs})


def bare(text: str) -> str:
    """A command with words for its placeholders, and without what may be left out."""
    text = re.sub(r" \[[^\]]*\]| \| --all| > \S+", "", text)
    for placeholder, value in PLACEHOLDERS.items():
        text = text.replace(placeholder, value)
    return re.sub(r"<[^>]*>", "one", text)


@pytest.mark.parametrize("typed", [each for each in of(*SERVICES) if OURS.match(each)])
def test_a_command_of_a_guide_is_understood(typed: str) -> None:
    _python, _m, service, *arguments = shlex.split(bare(typed))
    parser = importlib.import_module(f"{service}.commands")._parser()

    parser.parse_args(arguments)


@pytest.mark.parametrize("typed", of("deploy/k8s/run"))
def test_a_command_of_a_release_is_understood(typed: str) -> None:
    _run, *arguments = shlex.split(bare(typed))

    if arguments and arguments != ["release"]:
        chosen = releases._parser().parse_args(arguments)

        assert chosen.command == "stop" or chosen.overlay.endswith(("one", "yours", "production"))


@pytest.mark.skipif(not shutil.which("kubectl"), reason="kubectl itself reads its command lines")
@pytest.mark.parametrize("typed", [each for each in of("kubectl", "for") if "kubectl" in each])
def test_a_command_of_kubectl_is_understood(tmp_path: Path, typed: str) -> None:
    program = tmp_path / "kubectl"
    program.write_text(f'#!/bin/sh\nexec {shutil.which("kubectl")} --server={NOWHERE} "$@"\n')
    program.chmod(0o755)
    line = f"{typed} true" if typed.endswith(" --") else bare(typed)

    done = subprocess.run(
        ["bash", "-c", line],
        cwd=ROOT,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "KUBECONFIG": os.devnull},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    local = "kubectl kustomize" in typed or "kind load" in typed
    assert local or "refused" in done.stderr, done.stderr


def test_what_kubectl_is_told_to_use_exists() -> None:
    documents = [*rendered("overlays/local"), *rendered("components/operators")]
    exists = {f"{each['kind'].lower()}/{each['metadata']['name']}" for each in documents}
    exists |= {each.replace("deployment/", "deploy/") for each in exists}
    claims = {
        f"persistentvolumeclaim/{claim['metadata']['name']}-{each['metadata']['name']}-{number}"
        for each in of_kind(documents, "StatefulSet")
        for claim in each["spec"].get("volumeClaimTemplates", [])
        for number in range(2)
    }
    typed = "\n".join(of("kubectl", "for"))
    kinds = "deploy|statefulset|service|job|cronjob"
    named = set(re.findall(rf"(?<![\w/])(?:{kinds})/[\w-]+(?![\w/-])", typed))
    named |= {f"statefulset/{name}" for name in re.findall(r"\bstatefulset (\w+)", typed)}
    for names in re.findall(r"for claim in ([^;]+);", typed):
        named |= {f"persistentvolumeclaim/{name}" for name in names.split()}

    assert len(named) >= 8
    assert named - exists - claims == set()


def test_every_target_of_make_exists() -> None:
    targets = set(re.findall(r"^([\w -]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    existing = {name for line in targets for name in line.split()}
    typed = {
        word
        for text in of("make")
        for word in shlex.split(text)[1:]
        if "=" not in word and not word.startswith("-")
    }

    assert typed - existing == set()


def test_the_steps_of_a_release_change_every_version(tmp_path: Path) -> None:
    projects = [
        file
        for folder in ("libs", "clients", "services")
        for file in ROOT.glob(f"{folder}/*/pyproject.toml")
    ]
    for folder in ("deploy", "clients"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    for file in projects:
        copy = tmp_path / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copy)
    shutil.copy(ROOT / "CHANGELOG.md", tmp_path)
    steps = [each.text for each in commands() if re.match(r"old=|sed -i |git grep ", each.text)]
    [old, new] = re.findall(r"=(\S+)", steps[0])

    script = "\n".join(["git init --quiet", "git add --all", *steps])
    subprocess.run(["bash", "-euc", script], cwd=tmp_path, check=True, timeout=60)

    assert len(steps) == 4
    assert all(
        f'version = "{new}"' in (tmp_path / file.relative_to(ROOT)).read_text() for file in projects
    )
    left = [
        line
        for file in tmp_path.glob("deploy/**/*")
        if file.is_file() and file.suffix != ".json"
        for line in file.read_text(errors="ignore").splitlines()
        if re.search(
            rf"(company-registry/[\w-]+:|RELEASE:-|image.version=\"){re.escape(old)}", line
        )
    ]
    assert left == []
    assert re.search(rf"## Unreleased\n\n## {new} - ", (tmp_path / "CHANGELOG.md").read_text())


def test_every_command_is_of_a_kind_that_a_test_types() -> None:
    tested = {*SERVICES, "deploy/k8s/run", "kubectl", "for", "make", "rabbitmqctl"}
    tested |= {"rabbitmq-diagnostics"}
    others = {each.text for each in commands() if each.program not in tested}

    # Trials, benchmarks and images are run by the targets of make, the client by test_readme.py.
    elsewhere = re.compile(
        r"sed -nE .*|"
        r"python -m (bench|<service>).*|deploy/(compose|images)/.*|RECEIVER_SECRET=.*"
        r"|company-registry .*|CVR_USER=.*|openssl rand .*|curl .*|while read .*|git tag .*"
        r"|old=.*|sed -i .*|git grep .*"
    )
    assert {each for each in others if not elsewhere.fullmatch(each)} == SHELL


def test_a_pod_is_addressed_through_what_exists() -> None:
    exists = {
        f"{'deploy' if kind == 'Deployment' else kind.lower()}/{each['metadata']['name']}"
        for kind in ("Deployment", "StatefulSet")
        for each in of_kind(base_files(), kind)
    }
    named = {
        found
        for guide in GUIDES
        for found in re.findall(r"\bexec (?:-it )?([a-z]+/[^\s`]+)", guide.read_text())
    }

    assert named
    assert named - exists == set()


def alerts() -> Iterator[Any]:
    document = yaml.safe_load((KUBERNETES / "components/monitoring/alerts.yaml").read_text())
    rules = [rule for group in document["spec"]["groups"] for rule in group["rules"]]
    sections = (ROOT / "docs" / "runbook.md").read_text().split("\n### ")
    means = {part.split("\n")[0]: part.split("**Means**: ")[1] for part in sections[1:]}
    for rule in rules:
        if "alert" in rule:
            yield pytest.param(rule, means[rule["alert"]].split("\n")[0], id=rule["alert"])


@pytest.mark.parametrize("rule, means", [*alerts()])
def test_the_numbers_that_an_alert_is_explained_with_are_its_own(
    rule: dict[str, Any], means: str
) -> None:
    own = set(CONSTANTS.get(rule["alert"], ()))
    for number, unit in re.findall(
        r"(\d+(?:\.\d+)?)([mhd]\b)?", f"{rule['expr']} {rule.get('for')}"
    ):
        own.add(float(number) * UNITS.get(unit, 1))
        own.add(round(1 - float(number), 6))

    explained = re.findall(r"(\d[\d.,]*\d|\d)(?:xx)? ?(%|(?:th|ms|s|minutes|hours|days)\b)?", means)
    for number, unit in explained:
        value = float(number.replace(",", "")) * UNITS.get(unit, 1)
        assert number in ("5", "503") or any(abs(value - each) < 1e-9 for each in own), number


def test_the_runbook_has_the_settings_numbers() -> None:
    runbook = (ROOT / "docs" / "runbook.md").read_text()
    delays = TypeAdapter(list[timedelta]).validate_python(
        Settings.model_fields["webhook_retry_delays"].default.split(",")
    )
    hours, minutes = divmod(sum(delays, timedelta()) // timedelta(minutes=1), 60)

    assert f"after the last retry ({hours} h {minutes} min)" in runbook
    assert f"After {consumer.MAX_TRIES} failed tries" in runbook


def test_the_guides_have_the_manifests_numbers() -> None:
    guide = (KUBERNETES / "README.md").read_text()
    operations = (ROOT / "docs" / "operations.md").read_text()
    documents = rendered("components/operators")
    [backup] = of_kind(documents, "CronJob")
    [script] = backup["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]["args"]
    [broker] = of_kind(documents, "RabbitmqCluster")
    [members] = of_kind(documents, "MongoDBCommunity")
    [kept] = [each for each in of_kind(documents, "PersistentVolumeClaim")]
    claims = members["spec"]["statefulSet"]["spec"]["volumeClaimTemplates"]
    data, logs = (of_claim(each) for each in claims)
    every = re.fullmatch(r"\d+ \*/(\d+) \* \* \*", backup["spec"]["schedule"])
    delays = {
        each["data"].get("SHUTDOWN_DELAY", "PT0S")
        for each in of_kind(base_files(), "ConfigMap")
        if each["metadata"]["name"] in ("gateway-settings", "portal-settings")
    }
    scaled = of_kind(rendered("components/hpa"), "HorizontalPodAutoscaler")
    millicores = {
        each["spec"]["metrics"][0]["resource"]["target"]["averageValue"] for each in scaled
    }
    posts = Settings.model_fields["webhook_max_posts_per_webhook"].default
    of_host = Settings.model_fields["webhook_max_posts_per_host"].default

    assert every
    assert every[1] == "6"
    assert "**RPO: 6 hours**" in operations
    assert "every six hours, and keeps two weeks" in guide
    assert "-mtime +14" in script
    assert f"({size(broker['spec']['persistence']['storage'])}; {data} and {logs} of logs)" in guide
    assert f"`mongodb-backups` ({of_claim(kept)})" in guide
    assert delays == {"PT5S"}
    assert "serve for 5 s more (`SHUTDOWN_DELAY`)" in guide
    assert millicores == {"700m"}
    assert "by 700 millicores per pod" in guide
    for text in (guide, operations):
        assert re.search(
            rf"`WEBHOOK_MAX_POSTS`, (and )?{posts} per webhook, {of_host} per host", text
        )
    assert DatabaseSettings.model_fields["mongo_primary_timeout"].default == "PT30S"
    assert "`MONGO_PRIMARY_TIMEOUT` (30 s)" in operations


def of_claim(claim: Any) -> str:
    return size(claim["spec"]["resources"]["requests"]["storage"])


def size(quantity: str) -> str:
    return f"{quantity[:-2]} {quantity[-2:]}B"


RUNBOOK = (ROOT / "docs" / "runbook.md").read_text()
SPANS = sorted(set(re.findall(r"`([^`\n]+)`", RUNBOOK)))
QUERIES = [each for each in SPANS if re.match(r"(sum|max|min|rate|histogram_quantile|\w+\{)", each)]
SOURCES = "\n".join(
    file.read_text()
    for folder in ("services", "libs")
    for file in ROOT.glob(f"{folder}/*/src/**/*.py")
)


@pytest.mark.parametrize("query", [each for each in QUERIES if "(" in each or "{" in each])
def test_a_query_of_the_runbook_uses_metrics_and_labels_that_exist(query: str) -> None:
    of_processes = {"process_cpu_seconds_total": frozenset({"job", "pod"})}

    assert unknown_in(query, exposed_metrics() | of_processes) == []


def test_events_metrics_and_alerts_that_the_runbook_names_exist() -> None:
    words = {each for each in SPANS if re.fullmatch(r"[a-z]+(_[a-z]+)+", each)}
    events = {each for each in SPANS if re.fullmatch(r"[a-z]+\.[a-z_]+", each)}
    settings = {each for each in SPANS if re.fullmatch(r"[A-Z]+(_[A-Z]+)+", each)}
    named = {each for each in SPANS if re.fullmatch(r"([A-Z][a-z]+){2,}", each)}
    exposed = {each.removesuffix("_bucket").removesuffix("_count") for each in exposed_metrics()}

    assert len(events) >= 8
    assert {each for each in events if f'"{each}"' not in SOURCES} - {
        "webhooks.receipts",
        "dispatcher.events",
    } == set()
    assert {each for each in words - exposed if each not in SOURCES} == set()
    assert {each for each in settings if each.lower() not in SOURCES} == set()
    assert named - {alert.id for alert in alerts()} == set()
