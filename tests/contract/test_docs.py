"""The services' READMEs list exactly the settings and metrics of the code."""

import importlib
import re
from pathlib import Path

import pytest
from pydantic_settings import BaseSettings

ROOT = Path(__file__).parents[2]
SERVICES = {
    "gateway": "gateway",
    "lookup": "lookup",
    "webhook-registry": "webhook_registry",
    "dispatcher": "dispatcher",
    "portal": "portal",
}
HEADINGS = ["What it does", "Messages", "Settings", "Metrics", "Runbook"]


def readme(service: str) -> str:
    return (ROOT / "services" / service / "README.md").read_text()


def settings_of(package: str) -> set[str]:
    """The names of all settings of a service and of its commands."""
    root = Path(importlib.import_module(package).__path__[0])
    files = [root / "settings.py", *root.glob("registers/*/settings.py")]
    names = [".".join(file.relative_to(root.parent).with_suffix("").parts) for file in files]
    modules = [importlib.import_module(name) for name in names]
    classes = [found for one in modules for found in vars(one).values() if isinstance(found, type)]
    return {
        name.upper()
        for settings in classes
        if issubclass(settings, BaseSettings)
        for name in settings.model_fields
    }


METRIC = re.compile(r"\b(?P<kind>Counter|Gauge|Histogram)\(\s*\"(?P<name>[a-z_]+)\"")


def metrics_in(*folders: Path) -> set[str]:
    """Names of the metrics that the code below the folders defines."""
    sources = (path.read_text() for folder in folders for path in folder.glob("**/*.py"))
    return {found["name"] for source in sources for found in METRIC.finditer(source)}


@pytest.mark.parametrize("service", SERVICES)
def test_a_readme_has_the_five_headings_in_order(service: str) -> None:
    headings = re.findall(r"^## (.+)$", readme(service), re.MULTILINE)

    assert headings == HEADINGS


@pytest.mark.parametrize("service, package", SERVICES.items())
def test_every_setting_is_in_the_readme_and_no_other(service: str, package: str) -> None:
    section = readme(service).split("## Settings")[1].split("## Metrics")[0]
    listed = set(re.findall(r"^\| `([A-Z_]+)` \|", section, re.MULTILINE))

    assert listed == settings_of(package)


@pytest.mark.parametrize("service", SERVICES)
def test_a_readme_lists_exactly_the_metrics_of_its_service(service: str) -> None:
    section = readme(service).split("## Metrics")[1].split("## Runbook")[0]
    rows = re.findall(r"^\| (`[^|]+) \|", section, re.MULTILINE)
    listed = {name for row in rows for name in re.findall(r"`([a-z_]+)`", row)}
    own = metrics_in(ROOT / "services" / service / "src")

    assert own - listed == set()
    assert listed - own - metrics_in(ROOT / "libs") == set()
