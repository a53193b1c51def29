"""The bill of materials of an image lists what is installed in it, with its licences."""

import re
from importlib.metadata import distributions, version
from pathlib import Path
from typing import Any

import pytest

from releases import inventory
from tests.contract.manifests.reading import ROOT

STATUS = """\
Package: libexample1
Status: install ok installed
Architecture: amd64
Version: 1.2-3+deb12u1
Description: an example
 whose next line: has a colon

Package: gone
Status: deinstall ok config-files
Architecture: amd64
Version: 1.0

Package: prose
Status: install ok installed
Architecture: all
Version: 2.0
"""
COPYRIGHT = """\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/

Files: *
License: LGPL-2.1+

Files: tests/*
License: Expat
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The files of an invented image."""
    for name, text in (
        ("etc/os-release", 'ID=debian\nVERSION_ID="12"\n'),
        ("var/lib/dpkg/status", STATUS),
        ("usr/share/doc/libexample1/copyright", COPYRIGHT),
        (
            "usr/share/doc/prose/copyright",
            "License: you may use it.\nsee /usr/share/common-licenses/GPL-2.\n",
        ),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def by_name(document: dict[str, Any]) -> dict[str, Any]:
    return {each["name"]: each for each in document["components"]}


def licences(component: dict[str, Any]) -> list[str]:
    return [each["license"]["name"] for each in component["licenses"]]


def test_system_packages_have_versions_and_licences(root: Path) -> None:
    found = by_name(inventory.document("registry.example:5000/gateway:1.0.0", root))

    assert found["debian"]["version"] == "12"
    assert found["libexample1"]["purl"] == "pkg:deb/debian/libexample1@1.2-3+deb12u1?arch=amd64"
    assert licences(found["libexample1"]) == ["Expat", "LGPL-2.1+"]
    assert licences(found["prose"]) == ["GPL-2"]
    assert "gone" not in found


def test_packages_of_python_are_listed_with_ours_and_the_gpl_of_one(root: Path) -> None:
    found = by_name(inventory.document("gateway:1.0.0", root))

    assert found["cpython"]["licenses"]
    assert found["gateway"]["version"] == version("gateway")
    assert licences(found["gateway"]) == ["MIT"]
    assert licences(found["dicttoxml"]) == ["GNU GENERAL PUBLIC LICENSE"]
    assert len(
        [each for each in found.values() if each.get("purl", "").startswith("pkg:pypi/")]
    ) == len({each.metadata["Name"].lower().replace("_", "-") for each in distributions()})


def test_a_document_names_its_image_and_its_parts_once(root: Path) -> None:
    made = inventory.document("registry.example:5000/gateway:1.0.0", root)

    references = [each["bom-ref"] for each in made["components"] if "bom-ref" in each]
    assert (made["bomFormat"], made["specVersion"]) == ("CycloneDX", "1.5")
    assert made["metadata"]["component"] == {
        "type": "container",
        "name": "registry.example:5000/gateway",
        "version": "1.0.0",
    }
    assert len(references) == len(set(references))


def test_the_images_keep_no_package_manager_and_no_program_that_changes_its_user() -> None:
    text = (ROOT / "deploy/images/Dockerfile").read_text()
    [runtime] = re.findall(r"AS runtime\n(.*?)^USER", text, re.MULTILINE | re.DOTALL)

    assert "-perm /6000 -exec chmod a-s" in runtime
    assert "rm -rf /usr/bin/apt* /usr/bin/dpkg*" in runtime
    assert "uninstall --yes --root-user-action=ignore pip" in runtime
    # The list of what is installed stays.
    assert "/var/lib/dpkg" not in runtime
