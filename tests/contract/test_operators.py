"""RabbitMQ and MongoDB of components/operators: how services reach them, backups and restores."""

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from yarl import URL

from release import Refused, restore_job
from tests.contract.manifests.reading import KUBERNETES, ROOT, Workload, base_files, ours, workloads
from tests.contract.test_manifests import KUBERNETES_VERSIONS, RULES, read, with_kubectl


@with_kubectl
def test_the_brokers_url_leads_to_every_node_by_tls() -> None:
    # ADR 0073: each connection takes another address of the host.
    for workload in ours(read("components/operators")):
        variables = {each["name"]: each for each in workload.container["env"]}
        if "AMQP_URL" not in variables:
            continue
        url = URL(variables["AMQP_URL"]["value"].replace("$(AMQP_", "").replace(")", ""))
        mounts = {each["mountPath"] for each in workload.container["volumeMounts"]}

        assert (url.scheme, url.host, url.port) == ("amqps", "rabbitmq-nodes", 5671)
        assert str(Path(url.query["cafile"]).parent) in mounts
        # Kubernetes fills in only what was defined before.
        assert list(variables)[:3] == ["AMQP_USER", "AMQP_PASSWORD", "AMQP_URL"]


#: mongodump or mongorestore: notes its arguments and its configuration, and writes or reads a dump.
PROGRAM = """#!/bin/sh
cp "${1#--config=}" "$STAND_IN/config"
echo "$@" > "$STAND_IN/arguments"
for word; do case $word in --archive=*) $ARCHIVE "${word#--archive=}" || exit 1;; esac; done
exit "$STATUS"
"""
URLS = {
    user: f"mongodb://{user}:p%40ss@a:27017,b:27017/{{}}replicaSet=mongodb&tls=true"
    for user in ("backup", "restore")
}


def run(folder: Path, workload: Workload, program: str, **environment: str) -> int:
    """Runs the script of a container with a program in its place; its status."""
    folders = {each: folder / each for each in ("backups", "tmp", "bin")}
    for each in folders.values():
        each.mkdir()
    (folders["bin"] / program).write_text(PROGRAM)
    (folders["bin"] / program).chmod(0o755)
    old = folders["backups"] / "old.archive.gz"
    old.touch()
    os.utime(old, (0, 0))
    script, *arguments = workload.container["args"]
    for name in ("tmp", "backups"):
        script = re.sub(rf"(?<![\w/])/{name}\b", str(folders[name]), script)
    path = f"{folders['bin']}:{os.environ['PATH']}"
    command = [*workload.container["command"], script, *arguments]
    given = {"PATH": path, "STAND_IN": str(folder), **environment}
    return subprocess.run(command, env=given, timeout=30, check=False).returncode


def check_secrecy(folder: Path, user: str) -> str:
    """The arguments, without the password: every process of the node would see them."""
    arguments = (folder / "arguments").read_text()
    assert "p%40ss" not in arguments
    assert yaml.safe_load((folder / "config").read_text()) == {
        "uri": URLS[user].format("?authSource=admin&")
    }
    return arguments


@with_kubectl
@pytest.mark.parametrize("status", ["0", "1"])
def test_a_backup_dumps_every_database_and_keeps_two_weeks(tmp_path: Path, status: str) -> None:
    documents = read("components/operators")
    [backup] = [each for each in workloads(documents) if each.name == "mongodb-backup"]

    ended = run(
        tmp_path,
        backup,
        "mongodump",
        MONGO_URL=URLS["backup"].format("admin?"),
        STATUS=status,
        ARCHIVE="touch",
    )

    kept = sorted(each.name for each in (tmp_path / "backups").iterdir())
    assert ended == int(status)
    assert "--oplog" in check_secrecy(tmp_path, "backup").split()
    if status == "0":
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d{6}Z\.archive\.gz", " ".join(kept))
    else:
        assert kept == ["old.archive.gz", "unfinished"]


@with_kubectl
@pytest.mark.parametrize("archive,status", [("old.archive.gz", 0), ("missing", 1)])
def test_a_restore_reads_a_dump_of_the_backups_with_its_operations(
    tmp_path: Path, archive: str, status: int
) -> None:
    documents = read("components/operators")
    job: Any = restore_job(documents, archive)
    # The schemas ask for a name, which the cluster makes from this.
    job["metadata"]["name"] = job["metadata"].pop("generateName")

    ended = run(
        tmp_path,
        Workload(job),
        "mongorestore",
        MONGO_URL=URLS["restore"].format("admin?"),
        STATUS="0",
        ARCHIVE="test -f",
    )

    arguments = check_secrecy(tmp_path, "restore").split()
    assert ended == status
    assert {"--oplogReplay", "--gzip"} <= set(arguments)
    assert arguments[-1] == f"--archive={tmp_path}/backups/{archive}"
    assert [fault for rule in RULES for fault in rule([*documents, job])] == []
    for version in KUBERNETES_VERSIONS:
        kubernetes_validate.validate(job, version, strict=True)


def test_without_the_backups_of_the_component_nothing_is_restored() -> None:
    with pytest.raises(Refused, match="no CronJob mongodb-backup"):
        restore_job(base_files(), "2026-11-20T001700Z.archive.gz")


@with_kubectl
def test_the_users_of_mongodb_have_the_documented_rights_and_secrets() -> None:
    [database] = [
        each for each in read("components/operators") if each["kind"] == "MongoDBCommunity"
    ]
    users: Sequence[Any] = database["spec"]["users"]
    roles = {each["role"] for each in database["spec"]["security"]["roles"]}

    named = {role["name"] for user in users for role in user["roles"]}
    assert roles <= named <= roles | {"read", "readWrite", "backup"}
    assert {user["connectionStringSecretName"] for user in users} == {
        f"mongodb-{user['name']}" for user in users
    }


def test_every_deployment_has_the_recommended_rabbitmq() -> None:
    guide = (ROOT / "deploy" / "README.md").read_text()
    [series] = re.findall(r"^For a new installation: RabbitMQ (\d+\.\d+) ", guide, re.M)
    [tested] = re.findall(r"with Debian sid's (\S+) \|", guide)
    files = {
        KUBERNETES / "components" / "operators" / "rabbitmq.yaml": f"{tested}-management",
        KUBERNETES / "overlays" / "local" / "rabbitmq.yaml": f"{series}-management",
        ROOT / "deploy" / "compose" / "compose.yaml": f"{series}-management",
        ROOT / "deploy" / "compose" / "cluster.yaml": f"{series}-management",
    }

    assert tested.startswith(f"{series}.")
    for file, tag in files.items():
        assert re.findall(r"image: rabbitmq:(\S+)", file.read_text()) == [tag], file


def test_the_table_of_versions_has_those_that_are_deployed_and_tested() -> None:
    section = (ROOT / "deploy" / "README.md").read_text().split("## Supported versions\n")[1]
    rows = re.findall(r"^\| (RabbitMQ|MongoDB) \| (\S+?)(?:, (\S+)| to \S+)? \|", section, re.M)
    named = {(server, version) for server, *versions in rows for version in versions if version}
    files = [
        *(KUBERNETES / "components" / "operators").glob("*.yaml"),
        ROOT / "deploy" / "images" / "stand-ins" / "build",
    ]
    text = "\n".join(file.read_text() for file in files)
    deployed = {("RabbitMQ", each) for each in re.findall(r"rabbitmq:(\d+\.\d+)", text)}
    deployed |= {("MongoDB", each) for each in re.findall(r"version: (\d+\.\d+)\.\d+", text)}

    assert {server for server, _ in deployed} == {"RabbitMQ", "MongoDB"}
    assert deployed <= named
    assert f"schemas of {KUBERNETES_VERSIONS[0]}" in section
    assert f"and {KUBERNETES_VERSIONS[1]} |" in section
