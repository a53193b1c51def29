"""The contents of an image as a CycloneDX document: `python - <image> < inventory.py` in the image.

The interpreter of the image runs it, so it needs the standard library alone: Debian's packages and
their licences from Debian's own files, Python's from their metadata, and the interpreter.
"""

import json
import platform
import re
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

#: Copyright files before Debian's format continue with the licence itself.
_SHORT_NAME = re.compile(r"^License: *([\w.+-]+(?:,? (?:and|or|with) [\w.+-]+)*)$", re.MULTILINE)


def document(image: str, root: Path = Path("/")) -> dict[str, Any]:
    """Returns the bill of materials of the image with its files below `root`."""
    name, _, version = image.rpartition(":")
    system = dict(re.findall(r'^(\w+)="?(.*?)"?$', (root / "etc/os-release").read_text(), re.M))
    found = {each.metadata["Name"].lower().replace("_", "-"): each for each in distributions()}
    python = platform.python_version()
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {"type": "container", "name": name, "version": version}},
        "components": [
            {
                "type": "operating-system",
                "name": system["ID"],
                "version": system.get("VERSION_ID", ""),
            },
            _component("platform", "cpython", python, "pkg:generic/python", ["PSF-2.0"]),
            *_debian(root),
            *(
                _component("library", each, one.version, f"pkg:pypi/{each}", _licences(one))
                for each, one in sorted(found.items())
            ),
        ],
    }


def _debian(root: Path) -> Iterator[dict[str, Any]]:
    """Yields each installed package of Debian, of a licence in prose the name of its file."""
    status = (root / "var/lib/dpkg/status").read_text(encoding="utf-8", errors="replace")
    for stanza in status.strip().split("\n\n"):
        fields = dict(re.findall(r"^([A-Za-z-]+): (.*)$", stanza, re.MULTILINE))
        if not fields.get("Status", "").endswith(" installed"):
            continue
        name, path = fields["Package"], f"usr/share/doc/{fields['Package']}/copyright"
        text = (root / path).read_text() if (root / path).exists() else ""
        named = {each.strip() for each in _SHORT_NAME.findall(text)}
        common = set(re.findall(r"/usr/share/common-licenses/([\w.+-]*\w)", text))
        licences = sorted(named or common) or ([f"see /{path}"] if text else [])
        made = _component("library", name, fields["Version"], f"pkg:deb/debian/{name}", licences)
        made["purl"] = made["bom-ref"] = f"{made['purl']}?arch={fields['Architecture']}"
        yield made


def _licences(package: Distribution) -> list[str]:
    """Returns a package's licence: its expression, else its classifiers, else its text."""
    fields = {
        name: package.metadata.get_all(name) or []
        for name in ("License-Expression", "Classifier", "License")
    }
    classifiers = [
        each.rpartition(" :: ")[2]
        for each in fields["Classifier"]
        if each.startswith("License :: ") and not each.endswith("OSI Approved")
    ]
    texts = [each.strip().partition("\n")[0][:100] for each in fields["License"]]
    return fields["License-Expression"] or classifiers or [each for each in texts if each]


def _component(
    kind: str, name: str, version: str, purl: str, licences: list[str]
) -> dict[str, Any]:
    return {
        "type": kind,
        "name": name,
        "version": version,
        "purl": f"{purl}@{version}",
        "bom-ref": f"{purl}@{version}",
        "licenses": [{"license": {"name": each}} for each in licences],
    }


if __name__ == "__main__":
    json.dump(document(sys.argv[1]), sys.stdout, indent=1)
