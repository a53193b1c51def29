"""Commands and numbers of the guides are those of the programs, the manifests and the alerts."""

import importlib
import re
import shlex
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
import yaml
from pydantic import TypeAdapter

from common import mongo_clock
from common.messaging import consumer
from dispatcher.settings import Settings
from tests.contract.manifests.reading import KUBERNETES, ROOT, base_files, of_kind

# The country of the guide to a new register is an invented one.
GUIDES = sorted(
    guide
    for pattern in ("README.md", "docs/*.md", "services/*/README.md", "deploy/**/README.md")
    for guide in ROOT.glob(pattern)
    if guide.name != "adding-a-register.md"
)
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
_WORDS = r"[^`\n#|;<>]*"
COMMAND = re.compile(rf"python -m ({'|'.join(SERVICES)}) +([a-z]{_WORDS}(?:<[^>\n]*>{_WORDS})*)")
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


def commands() -> Iterator[Any]:
    for guide in GUIDES:
        text = re.sub(r"\[[^\]\n]*\]", "", guide.read_text().replace("\\\n", " "))
        for found in COMMAND.finditer(text):
            name = f"{guide.relative_to(ROOT)}: {found[0].strip()}"
            yield pytest.param(found[1], found[2], id=name)


@pytest.mark.parametrize("service, typed", [*commands()])
def test_a_command_of_a_guide_is_understood(service: str, typed: str) -> None:
    for placeholder, value in PLACEHOLDERS.items():
        typed = typed.replace(placeholder, value)
    parser = importlib.import_module(f"{service}.commands")._parser()

    parser.parse_args(shlex.split(re.sub(r"<[^>]*>", "one", typed)))


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
