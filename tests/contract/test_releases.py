"""`deploy/k8s/run` does what the guides say, in the one order of them, Argo CD and the chaos.

kubectl renders as always; no cluster is there, so a fake in its place notes what it is told.
"""

import os
import re
import subprocess
from collections.abc import Callable, Sequence
from importlib.metadata import distributions, version
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

import inventory
from bench.resilience.faults import UPGRADED
from release import UNSET, Cluster, Refused, check_images, images, job, main, outdated, services
from tests.contract.manifests.reading import (
    KUBERNETES,
    ROOT,
    Document,
    Workload,
    base_files,
    of_kind,
    rendered,
)
from tests.contract.test_manifests import KUBERNETES_VERSIONS, RULES, read, with_kubectl
from tests.fakes.kubectl import Kubectl

ORDER = ["dispatcher", "lookup", "ingest", "webhook-registry", "gateway", "portal"]
#: Every overlay, and the one of production with what else is ordered: each autoscaler, the servers'
#: operators and the tools for agents.
OVERLAYS: dict[str, tuple[str, Sequence[str]]] = {
    **{each.name: (each.name, ()) for each in sorted((KUBERNETES / "overlays").iterdir())},
    "whole": ("production", ("keda", "operators", "server-metrics", "mcp")),
}
INDEXES = [f"job {name} indexes" for name in ("gateway", "ingest", "webhook-registry")]
#: The first look finds a pod of the previous release, which may read by such an index.
LEAST = ("minReplicas", "minReplicaCount")
DUMP = f"{UNSET}mongodump:100"
DROPS = [
    *("get pods", "get pods"),
    *("job ingest indexes --drop-replaced", "job webhook-registry indexes --drop-replaced"),
]


def test_the_order_of_a_release_is_one() -> None:
    sentence = f"**{', '.join(ORDER)}**"

    assert [each["metadata"]["name"] for each in services(base_files())] == ORDER
    assert list(UPGRADED) == [name for name in ORDER if name in UPGRADED]
    assert sentence in (ROOT / "docs" / "operations.md").read_text()
    assert sentence in (KUBERNETES / "README.md").read_text()


@pytest.fixture(params=OVERLAYS)
def overlay(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of an overlay, with a registry for its images."""
    name, components = OVERLAYS[request.param]
    folder = tmp_path_factory.getbasetemp() / request.param
    folder.mkdir(exist_ok=True)
    within = os.path.relpath(KUBERNETES, folder.resolve())
    named = [*images(read(f"overlays/{name}")), *images(read("components/mcp")), DUMP]
    unset = {each.rpartition(":")[0] for each in named}
    made = {
        "namespace": "company-registry",
        "resources": [f"{within}/overlays/{name}"],
        "components": [f"{within}/components/{each}" for each in components],
        "images": [
            {"name": each, "newName": each.replace(UNSET, "registry.example/")}
            for each in sorted(unset)
        ],
    }
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(made))
    return str(folder)


def order_of(overlay: str) -> list[str]:
    return [*ORDER, "mcp"] if overlay.endswith("/whole") else ORDER


def typed(
    *words: str, failing: str = "no service", kubectl: Kubectl | None = None
) -> tuple[list[str], str]:
    """The calls of kubectl, and the error if the command failed."""
    kubectl = kubectl or Kubectl(failing=failing)
    kubectl.told.clear()
    try:
        main([words[0], "--look-every=0", *words[1:]], kubectl)
    except SystemExit as ended:
        return kubectl.told, str(ended.code)
    return kubectl.told, ""


def rolled_out(names: Sequence[str]) -> list[str]:
    return [line for name in names for line in (f"apply {name}", f"rollout status {name}")]


def shortened(told: Sequence[str]) -> list[str]:
    return [re.sub(r"^(rollout status) \w+/(\S+) .*", r"\1 \2", each) for each in told]


@with_kubectl
@pytest.mark.parametrize(
    "options,way,dropped", [((), 1, DROPS), (("--back",), -1, DROPS[:2])], ids=["on", "back"]
)
def test_a_release_makes_indexes_first_and_drops_replaced_ones_last(
    overlay: str, options: Sequence[str], way: int, dropped: Sequence[str]
) -> None:
    rolled = order_of(overlay)[::way]
    told, error = typed("release", *options, overlay)
    # A Job cannot be changed: the trial's import is one of each release.
    jobs = [each for each in told if each.startswith("delete job/")]
    first, *told = told[len(jobs) :]

    assert jobs == ["delete job/samples --ignore-not-found"] * overlay.endswith("local")
    assert "company-registry" in first.split()
    assert shortened(told) == [*INDEXES, *rolled_out(rolled), *dropped]
    assert error == ""


@with_kubectl
def test_a_job_prints_what_it_does_and_one_that_fails_ends_a_release(
    overlay: str, capsys: pytest.CaptureFixture[str]
) -> None:
    told, _ = typed("job", overlay, "ingest", "remove", "no", "310345806")
    printed = capsys.readouterr().out
    failed, error = typed("release", overlay, failing="webhook-registry")

    assert told == ["job ingest remove no 310345806"]
    assert printed == "ingest remove no 310345806\n"
    assert failed[-1] == "job webhook-registry indexes"
    assert error == "deploy/k8s/run: job.batch/one failed: webhook-registry indexes"


@with_kubectl
def test_everything_is_stopped_before_a_restore_and_resumed_as_the_guide_says(
    overlay: str, tmp_path: Path
) -> None:
    removed = tmp_path / "removed.txt"
    removed.write_text("no 310345806\ndk 12345674\n")
    limited = tmp_path / "limited.txt"
    limited.write_text("no 310345806 sha256:12\n")
    since = "2026-11-20T00:00:00Z"
    kubectl = Kubectl()
    documents = rendered(overlay)
    typed("release", overlay, kubectl=kubectl)

    stopped = list(typed("stop", overlay, kubectl=kubectl)[0])
    while_stopped = dict(kubectl.replicas)
    resumed, error = typed(
        "resume",
        f"--removed={removed}",
        f"--limited={limited}",
        f"--since={since}",
        overlay,
        kubectl=kubectl,
    )

    kinds = {"lookup": "statefulset"}
    order = order_of(overlay)
    names = [f"{kinds.get(name, 'deployment')}/{name}" for name in order]
    assert [each for each in stopped if "annotate" not in each] == [
        *(f"scale --replicas=0 {name}" for name in names),
        *("get pods", "get pods"),
    ]
    assert while_stopped == dict.fromkeys(names, 0)
    assert resumed[:6] == [
        "job ingest remove no 310345806",
        "job ingest remove dk 12345674",
        "job ingest limit no 310345806 sha256:12",
        "job webhook-registry limit no 310345806 sha256:12",
        "job ingest restored",
        "delete persistentvolumeclaims --selector=app.kubernetes.io/name=lookup",
    ]
    assert resumed[-3:] == [*DROPS[2:], f"job ingest republish --since {since}"]
    assert error == ""
    # The replicas of the manifest, or the fewest of the autoscaler that owns them.
    assert kubectl.replicas == dict(zip(names, map(wanted(documents), order), strict=True))


def wanted(documents: Sequence[Document]) -> Callable[[str], int]:
    """The replicas that a service begins with."""
    specs = {each["metadata"]["name"]: each["spec"] for each in services(documents)}
    scalers = {
        each["spec"]["scaleTargetRef"]["name"]: each["spec"]
        for each in of_kind(documents, "HorizontalPodAutoscaler", "ScaledObject")
    }

    def replicas(name: str) -> int:
        given = {**scalers.get(name, {}), **specs[name]}
        return int(next(given[key] for key in ("replicas", *LEAST) if key in given))

    return replicas


@with_kubectl
def test_a_page_of_an_alert_leads_to_the_published_runbook(overlay: str) -> None:
    kubectl = Kubectl()

    typed("release", "--runbooks=https://docs.example.com/v1", overlay, kubectl=kubectl)

    rules = [
        rule
        for document in of_kind(kubectl.applied, "PrometheusRule")
        for group in document["spec"]["groups"]
        for rule in group["rules"]
        if "alert" in rule
    ]
    assert bool(rules) == ("local" not in overlay)
    assert {rule["annotations"]["runbook_url"] for rule in rules} == {
        f"https://docs.example.com/v1/runbook.md#{rule['alert'].lower()}" for rule in rules
    }


@with_kubectl
def test_another_value_of_a_secret_replaces_the_pods_that_read_it() -> None:
    kubectl = Kubectl()
    cluster = Cluster("company-registry", timeout=60, run_kubectl=kubectl)
    for kubectl.secret in ("a", "a", "b"):
        cluster.roll_out(services(read("overlays/local"))[-1])

    first, same, other = (each["spec"]["template"] for each in kubectl.applied)
    assert first == same
    assert first["spec"] == other["spec"]
    assert first["metadata"] != other["metadata"]


@with_kubectl
def test_a_release_without_a_registry_is_refused_before_anything_is_applied() -> None:
    told, error = typed("release", str(KUBERNETES / "overlays" / "production"))
    named = images(read("overlays/production"))

    assert told == []
    with pytest.raises(Refused, match="company-registry/mcp"):
        check_images(read("components/mcp"))
    assert f"images of the overlay must name a registry for {UNSET}company-registry/disp" in error
    # RFC 2606: no resolver knows such a host.
    assert all(re.match(r"[a-z-]+\.invalid/company-registry/", image) for image in named)
    check_images(read("overlays/local"))


def test_the_program_is_run_by_its_name() -> None:
    command = [str(KUBERNETES / "run"), "--help"]

    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)

    assert "resume" in done.stdout


@with_kubectl
def test_a_trial_pulls_no_image_of_ours() -> None:
    for workload in map(Workload, services(read("overlays/local"))):
        assert {each["imagePullPolicy"] for each in workload.containers} == {"Never"}


@with_kubectl
@pytest.mark.parametrize(
    "source", ["overlays/local", "overlays/production", "components/operators"]
)
@pytest.mark.parametrize(
    "service,arguments",
    [
        ("ingest", ["remove", "no", "310345806"]),
        ("webhook-registry", ["indexes", "--drop-replaced"]),
        ("gateway", ["indexes"]),
    ],
    ids=lambda each: str(each)[:30],
)
def test_the_job_of_a_command_is_valid_and_keeps_every_rule(
    source: str, service: str, arguments: Sequence[str]
) -> None:
    documents = read(source)
    made: Any = dict(job(documents, service, arguments))
    # The schemas ask for a name, which the cluster makes from this.
    made["metadata"] = {**made["metadata"], "name": made["metadata"].pop("generateName")}
    template = made["spec"]["template"]

    assert [fault for rule in RULES for fault in rule([*documents, made])] == []
    for version_ in KUBERNETES_VERSIONS:
        kubernetes_validate.validate(made, version_, strict=True)
    mounts = {each["name"] for each in template["spec"]["containers"][0].get("volumeMounts", [])}
    assert {each["name"] for each in template["spec"]["volumes"]} == mounts
    # The certificate authority comes along where the database's URL names it.
    assert ("server-ca" in mounts) == (source == "components/operators")
    assert template["metadata"]["labels"]["app.kubernetes.io/name"] not in ORDER


def test_a_service_without_a_database_has_no_job() -> None:
    with pytest.raises(Refused, match="portal has no database"):
        job(base_files(), "portal", ["indexes"])


@pytest.mark.parametrize(
    "phase,image,expected",
    [("Running", "b", ["x"]), ("Running", "a", []), ("Succeeded", "b", [])],
)
def test_a_pod_that_ended_is_not_waited_for(phase: str, image: str, expected: list[str]) -> None:
    spec = {"containers": [{"image": image}]}
    pod = {"metadata": {"name": "x"}, "spec": spec, "status": {"phase": phase}}

    assert outdated([pod], {"a"}) == expected


# --- The bill of materials ---------------------------------------------------------------------

FILES = {
    "etc/os-release": 'ID=debian\nVERSION_ID="12"\n',
    "var/lib/dpkg/status": """\
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
""",
    "usr/share/doc/libexample1/copyright": "License: LGPL-2.1+\n\nFiles: tests/*\nLicense: Expat\n",
    "usr/share/doc/prose/copyright": (
        "License: you may use it.\nsee /usr/share/common-licenses/GPL-2.\n"
    ),
}


def test_the_bill_of_materials_lists_what_is_installed_with_its_licences(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    made = inventory.document("registry.example:5000/gateway:1.0.0", tmp_path)

    found = {each["name"]: each for each in made["components"]}
    licences = {
        name: [one["license"]["name"] for one in each.get("licenses", [])]
        for name, each in found.items()
    }
    references = [each["bom-ref"] for each in made["components"] if "bom-ref" in each]
    ours = {each.metadata["Name"].lower().replace("_", "-") for each in distributions()}
    assert (made["bomFormat"], made["specVersion"]) == ("CycloneDX", "1.5")
    assert made["metadata"]["component"] == {
        "type": "container",
        "name": "registry.example:5000/gateway",
        "version": "1.0.0",
    }
    assert found["debian"]["version"] == "12"
    assert found["libexample1"]["purl"] == "pkg:deb/debian/libexample1@1.2-3+deb12u1?arch=amd64"
    assert licences["libexample1"] == ["Expat", "LGPL-2.1+"]
    assert licences["prose"] == ["GPL-2"]
    assert "gone" not in found
    assert licences["cpython"]
    assert (found["gateway"]["version"], licences["gateway"]) == (version("gateway"), ["MIT"])
    assert licences["dicttoxml"] == ["GNU GENERAL PUBLIC LICENSE"]
    assert {each for each in found if f"pkg:pypi/{each}@" in str(found[each].get("purl"))} == ours
    assert len(references) == len(set(references))
