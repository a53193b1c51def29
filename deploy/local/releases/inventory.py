"""The contents of an image as a CycloneDX document: `python - <image> < inventory.py` in the image.

The interpreter of the image runs it, so it needs the standard library alone: Debian's packages and
their licences from Debian's own files, Python's from their metadata, and the interpreter.
"""

import json
import platform
import re
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

Component = dict[str, Any]
_LONGEST_NAME = 100
#: Copyright files before Debian's format continue with the licence itself.
_SHORT_NAME = re.compile(r"^License: *([\w.+-]+(?:,? (?:and|or|with) [\w.+-]+)*)$", re.MULTILINE)


def document(image: str, root: Path = Path("/")) -> dict[str, Any]:
    """Returns the bill of materials of the image with its files below `root`."""
    name, _, version = image.rpartition(":")
    components = [_system(root), _interpreter(), *debian(root), *python_packages()]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {"type": "container", "name": name, "version": version}},
        "components": components,
    }


def debian(root: Path) -> Iterator[Component]:
    """Yields each installed package of Debian."""
    status = (root / "var/lib/dpkg/status").read_text(encoding="utf-8", errors="replace")
    for stanza in status.strip().split("\n\n"):
        fields = dict(re.findall(r"^([A-Za-z-]+): (.*)$", stanza, re.MULTILINE))
        if fields.get("Status", "").endswith(" installed"):
            name, version = fields["Package"], fields["Version"]
            purl = f"pkg:deb/debian/{name}@{version}?arch={fields['Architecture']}"
            yield _component("library", name, version, purl, _licences_of_debian(root, name))


def python_packages() -> Iterator[Component]:
    """Yields each package that this interpreter imports, ours included."""
    found = {each.metadata["Name"].lower().replace("_", "-"): each for each in distributions()}
    for name, each in sorted(found.items()):
        yield _component(
            "library", name, each.version, f"pkg:pypi/{name}@{each.version}", _licences(each)
        )


def _system(root: Path) -> Component:
    release = (root / "etc/os-release").read_text()
    fields: Mapping[str, str] = dict(re.findall(r'^(\w+)="?(.*?)"?$', release, re.MULTILINE))
    return {
        "type": "operating-system",
        "name": fields["ID"],
        "version": fields.get("VERSION_ID", fields.get("VERSION_CODENAME", "")),
    }


def _interpreter() -> Component:
    version = platform.python_version()
    return _component("platform", "cpython", version, f"pkg:generic/python@{version}", ["PSF-2.0"])


def _licences_of_debian(root: Path, package: str) -> list[str]:
    """Returns the short names in a copyright file; of prose, the name of the file."""
    file = root / "usr/share/doc" / package / "copyright"
    if not file.exists():
        return []
    text = file.read_text(encoding="utf-8", errors="replace")
    named = sorted({each.strip() for each in _SHORT_NAME.findall(text)})
    common = sorted(set(re.findall(r"/usr/share/common-licenses/([\w.+-]*\w)", text)))
    return named or common or [f"see {Path('/') / file.relative_to(root)}"]


def _licences(package: Distribution) -> list[str]:
    """Returns a package's licence: its expression, else its classifiers, else its text."""

    def given(field: str) -> list[str]:
        return package.metadata.get_all(field) or []

    if expression := given("License-Expression"):
        return expression
    classifiers = [
        each.rpartition(" :: ")[2]
        for each in given("Classifier")
        if each.startswith("License :: ") and not each.endswith("OSI Approved")
    ]
    texts = [each.strip().partition("\n")[0][:_LONGEST_NAME] for each in given("License")]
    return classifiers or [each for each in texts if each]


def _component(kind: str, name: str, version: str, purl: str, licences: list[str]) -> Component:
    return {
        "type": kind,
        "name": name,
        "version": version,
        "purl": purl,
        "bom-ref": purl,
        "licenses": [{"license": {"name": each}} for each in licences],
    }


if __name__ == "__main__":
    json.dump(document(sys.argv[1]), sys.stdout, indent=1)
