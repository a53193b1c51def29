"""The workflows, templates and tools around the code are valid, pinned, and about what exists."""

import ast
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.contract.manifests.reading import ROOT
from tests.contract.test_images import TARGETS
from tests.fakes import docker

GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yaml"))
FORMS = sorted((GITHUB / "ISSUE_TEMPLATE").glob("*.yml"))
PINNED = re.compile(r"[\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
VERSIONS = re.findall(r"^## (\d\S+) - ", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)


def workflow(name: str) -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((GITHUB / "workflows" / f"{name}.yaml").read_text())
    return read


def steps(name: str) -> list[dict[str, Any]]:
    return [step for job in workflow(name)["jobs"].values() for step in job.get("steps", ())]


def notes(version: str) -> subprocess.CompletedProcess[str]:
    command = [str(ROOT / ".ci" / "release-notes"), version]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)


@pytest.mark.parametrize(
    "schema, files",
    [
        ("github-workflows", WORKFLOWS),
        ("github-issue-forms", FORMS),
        ("renovate", [ROOT / "renovate.json"]),
        ("compose-spec", sorted((ROOT / "deploy" / "compose").glob("c*.yaml"))),
    ],
)
def test_a_file_follows_the_schema_of_its_kind(schema: str, files: list[Path]) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}"]

    done = subprocess.run(
        [*command, *files], capture_output=True, text=True, timeout=60, check=False
    )

    assert files
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)
def test_a_workflow_uses_what_is_pinned_and_has_few_rights(file: Path) -> None:
    used = re.findall(r"uses: (.+)", file.read_text())
    images = re.findall(r"container: (.+)", file.read_text())

    assert [one for one in used if not PINNED.fullmatch(one) and not one.startswith("./")] == []
    assert [one for one in images if not re.search(r"@sha256:[0-9a-f]{64}$", one)] == []
    assert workflow(file.stem)["permissions"] == {"contents": "read"}
    assert all(
        "timeout-minutes" in job or "uses" in job for job in workflow(file.stem)["jobs"].values()
    )


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)
def test_a_script_of_a_workflow_is_bash_without_values_of_others(file: Path) -> None:
    for script in (step["run"] for step in steps(file.stem) if "run" in step):
        done = subprocess.run(["bash", "-n", "-c", script], capture_output=True, check=False)

        assert done.returncode == 0, done.stderr
        # The name of a branch or a tag would be read as a command.
        assert "${{" not in script


def test_a_tag_builds_every_image_and_the_check_comes_first() -> None:
    jobs = workflow("release")["jobs"]

    assert set(jobs["images"]["strategy"]["matrix"]["target"]) == set(TARGETS)
    assert jobs["check"]["uses"] == "./.github/workflows/check.yaml"
    assert jobs["images"]["needs"] == "check"
    assert ".ci/run" in [step.get("run") for step in steps("check")]


def test_an_image_is_pushed_for_each_architecture_and_named_by_its_digest(tmp_path: Path) -> None:
    digest = f"sha256:{'0' * 64}"
    environment = docker.install(tmp_path, present={"python:3.11-slim-bookworm": []}, pushed=digest)

    done = subprocess.run(
        [ROOT / "deploy" / "images" / "build", "gateway"],
        env={**environment, "PUSH": "registry.example.com/companies", "VERSION": "1.2.0"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    [options] = json.loads((tmp_path / "state.json").read_text())["built"]
    assert done.stdout == f"registry.example.com/companies/gateway@{digest}\n"
    assert options[options.index("--platform") + 1] == "linux/amd64,linux/arm64"
    assert options[options.index("--tag") + 1] == "registry.example.com/companies/gateway:1.2.0"
    assert {"--push", "--provenance=mode=max"} < set(options)
    assert any(each.startswith("org.opencontainers.image.revision=") for each in options)


def test_a_fork_needs_two_variables() -> None:
    text = (GITHUB / "workflows" / "release.yaml").read_text()

    assert set(re.findall(r"vars\.(\w+)", text)) == {"REGISTRY", "REGISTRY_PATH"}
    assert re.findall(r"ghcr\.io", text) == ["ghcr.io"]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_notes_of_a_release_are_its_part_of_the_changelog(version: str) -> None:
    text = notes(version).stdout

    assert text.startswith(("###", "Tag", "The", "First"))
    assert f"\n## {version} " not in text
    assert text in (ROOT / "CHANGELOG.md").read_text()


def test_a_version_without_a_part_of_the_changelog_is_no_release() -> None:
    assert notes("0.0.99").returncode == 1
    assert notes(VERSIONS[0][:-2]).returncode == 1


def test_owners_are_named_for_what_exists() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, check=True)
    files = listed.stdout.decode().splitlines()
    lines = [line.split() for line in (GITHUB / "CODEOWNERS").read_text().splitlines()]
    patterns = [line[0] for line in lines if line and line[0] != "#"]

    found = {one: [f"/{file}" for file in files if matches(one, f"/{file}")] for one in patterns}
    assert [pattern for pattern, matched in found.items() if not matched] == []


def matches(pattern: str, file: str) -> bool:
    return pattern == "*" or file == pattern or (pattern.endswith("/") and file.startswith(pattern))


def test_hooks_before_a_commit_are_the_tools_of_the_check() -> None:
    [local] = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    entries = [hook["entry"].split() for hook in local["hooks"]]
    makefile = (ROOT / "Makefile").read_text()

    assert local["repo"] == "local"
    for program, *words in entries:
        assert (ROOT / program).exists() or f"\n{words[0]}:" in makefile


def test_a_module_gives_no_constant_a_second_value() -> None:
    """As it did after two modules were joined, when neither the linter nor mypy saw it."""
    folders = ("bench", "clients", "deploy", "libs", "services", "tests")
    modules = [each for folder in folders for each in (ROOT / folder).rglob("*.py")]

    twice = {
        str(module.relative_to(ROOT)): names
        for module in modules
        if (names := [each for each, count in assigned(module).items() if count > 1])
    }

    assert len(modules) > 200
    assert twice == {}


def assigned(module: Path) -> Counter[str]:
    """How often the statements at the top of a module assign each name."""
    statements = ast.parse(module.read_text()).body
    targets = [
        target for each in statements if isinstance(each, ast.Assign) for target in each.targets
    ]
    targets += [each.target for each in statements if isinstance(each, ast.AnnAssign)]
    return Counter(
        node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)
    )


DOORS = re.findall(r"`(tests/\S+?\.py)::(\w+)`", (ROOT / "SECURITY.md").read_text())


def test_the_threat_model_names_a_test_for_each_door() -> None:
    table = (ROOT / "SECURITY.md").read_text().split("### Doors")[1].split("###")[0]
    rows = re.findall(r"^\| (?!door|---)(.+?) \|.*$", table, re.MULTILINE)

    assert {"uploads", "mail", "feeds", "groups", "forms of the portal"} <= set(rows)
    assert len(rows) == sum("::" in line for line in table.splitlines())


@pytest.mark.parametrize("file, name", DOORS, ids=[name for _, name in DOORS])
def test_each_test_of_the_threat_model_exists(file: str, name: str) -> None:
    tree = ast.parse((ROOT / file).read_text())

    assert name in {
        each.name for each in tree.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
    }
