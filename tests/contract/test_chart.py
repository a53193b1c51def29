"""The Helm chart renders what kubectl renders of the same manifests, changed by values.

helm comes with `make .tools/kubernetes/helm`, which `make contract` and `make check` do first.
"""

import json
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from tests.contract.manifests.reading import (
    COMPONENTS,
    NAMESPACE,
    ROOT,
    UNSET,
    Document,
    rendered,
    workloads,
)
from tests.contract.test_manifests import KUBERNETES_VERSIONS, RULES, with_kubectl

CHART = ROOT / "deploy" / "helm" / "company-registry"
VALUES = sorted((CHART.parent / "values").iterdir())
OWN = ROOT / ".tools" / "kubernetes" / "helm"
HELM = str(OWN) if OWN.exists() else shutil.which("helm")
pytestmark = pytest.mark.skipif(
    HELM is None, reason="there is no helm: make .tools/kubernetes/helm"
)
SETTINGS = re.compile(r"(-settings)-[a-z0-9]{10}\b")
#: Kinds that the schemas of Kubernetes contain.
BUILT_IN = re.compile(r"(v1|(apps|batch|policy|autoscaling|[a-z.]+\.k8s\.io)/v\d)$")


def helm(*words: str, fails: bool = False) -> str:
    done = subprocess.run(
        [str(HELM), *words], capture_output=True, text=True, timeout=60, check=False, cwd=ROOT
    )
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return done.stderr if fails else done.stdout


def template(values: Mapping[str, Any], *files: Path, namespace: str = NAMESPACE) -> list[Document]:
    """The objects of the chart, with the registry that the manifests name."""
    given = {"image": {"registry": UNSET.rstrip("/")}, **values}
    named = [f"--values={each}" for each in files]
    words = ("template", "x", str(CHART), f"--namespace={namespace}", *named)
    text = helm(*words, *(f"--set-json={key}={json.dumps(given[key])}" for key in given))
    found = [each for each in yaml.load_all(text, Loader=yaml.CSafeLoader) if each]
    return [each for each in found if "helm.sh/hook" not in str(each["metadata"])]


def comparable(documents: Sequence[Document]) -> dict[tuple[str, str], Any]:
    """The documents by kind and name, without what each of both programs adds.

    kubectl names a ConfigMap by its content, and the chart notes that on the pods, so that another
    setting replaces them. Folded expressions of Prometheus differ in white space. A namespace is
    made by `helm install --create-namespace`.
    """
    plain = {}
    for each in documents:
        text = SETTINGS.sub(r"\1", json.dumps(each, sort_keys=True))
        document = json.loads(re.sub(r'"checksum/settings": "\w+", ', "", text))
        for group in document["spec"]["groups"] if each["kind"] == "PrometheusRule" else ():
            for rule in group["rules"]:
                rule["expr"] = rule["expr"].split()
        plain[document["kind"], document["metadata"]["name"]] = document
    plain.pop(("Namespace", NAMESPACE), None)
    return plain


@cache
def components() -> tuple[str, ...]:
    return tuple(sorted(each.name for each in COMPONENTS.iterdir()))


@with_kubectl
def test_the_default_values_are_the_base() -> None:
    assert comparable(template({})) == comparable(rendered("base"))


@with_kubectl
@pytest.mark.parametrize("component", components())
def test_a_component_of_the_chart_is_the_one_of_kubectl(component: str) -> None:
    made = template({"components": {component: True}})

    assert comparable(made) == comparable(rendered(f"components/{component}"))


@with_kubectl
def test_the_values_of_a_production_are_its_overlay() -> None:
    [values] = [each for each in VALUES if each.name == "production.yaml"]
    registry = {"image": {"registry": UNSET.rstrip("/")}}

    assert comparable(template(registry, values)) == comparable(rendered("overlays/production"))


@pytest.mark.parametrize("values", VALUES, ids=lambda each: each.stem)
def test_example_values_pass_lint_and_keep_every_rule(values: Path) -> None:
    helm("lint", "--strict", str(CHART), f"--values={values}")
    documents = template({"image": {"registry": UNSET.rstrip("/")}}, values, namespace="other")

    assert [fault for rule in RULES for fault in rule(documents)] == []
    for each in documents:
        assert each["metadata"].get("namespace") == "other"
        for version in KUBERNETES_VERSIONS if BUILT_IN.match(each["apiVersion"]) else ():
            if "gateway.networking" not in each["apiVersion"]:
                kubernetes_validate.validate(each, version, strict=True)


#: A value, and what it changes: kind and name, and the path in it.
CHANGES: list[tuple[dict[str, Any], str, str, Any]] = [
    ({"services": {"gateway": {"replicas": 5}}}, "Deployment gateway", "spec.replicas", 5),
    ({"services": {"lookup": {"resources": {"limits": {"memory": "4Gi"}}}}}, "StatefulSet lookup",
     "spec.template.spec.containers.0.resources.limits",
     {"memory": "4Gi", "ephemeral-storage": "512Mi"}),
    ({"services": {"lookup": {"storage": "9Gi", "storageClass": "fast"}}}, "StatefulSet lookup",
     "spec.volumeClaimTemplates.0.spec", {"accessModes": ["ReadWriteOnce"],
     "storageClassName": "fast", "resources": {"requests": {"storage": "9Gi"}}}),
    ({"services": {"portal": {"env": [{"name": "A", "value": "b"}]}}}, "Deployment portal",
     "spec.template.spec.containers.0.env.1", {"name": "A", "value": "b"}),
    ({"services": {"ingest": {"args": ["serve", "peppol"]}}}, "Deployment ingest",
     "spec.template.spec.containers.0.args", ["serve", "peppol"]),
    ({"services": {"portal": {"settings": {"LOG_LEVEL": "DEBUG"}}}}, "ConfigMap portal-settings",
     "data.LOG_LEVEL", "DEBUG"),
    ({"services": {"gateway": {"pod": {"nodeSelector": {"a": "b"}}}}}, "Deployment gateway",
     "spec.template.spec.nodeSelector", {"a": "b"}),
    ({"settings": {"KEY_RATE": 7}}, "ConfigMap gateway-settings", "data.KEY_RATE", "7"),
    ({"components": {"hpa": True}, "services": {"lookup": {"autoscaling": {"min": 4, "max": 5}}}},
     "HorizontalPodAutoscaler lookup", "spec.maxReplicas", 5),
    ({"components": {"keda": True},
      "services": {"dispatcher": {"autoscaling": {"min": 4, "max": 5}}}},
     "ScaledObject dispatcher", "spec.minReplicaCount", 4),
    ({"components": {"gateway-api": True}, "hosts": {"api": "a.test", "portal": "b.test"}},
     "HTTPRoute portal", "spec.hostnames", ["b.test"]),
    ({"components": {"gateway-api": True}, "hosts": {"api": "a.test"}},
     "ConfigMap gateway-settings", "data.PUBLIC_URL", "https://a.test"),
    ({"components": {"gateway-api": True}, "publish": {"trustedProxies": "10.1.0.0/16"}},
     "ConfigMap gateway-settings", "data.TRUSTED_PROXIES", "10.1.0.0/16"),
    ({"components": {"ingress": True}, "publish": {"ingress": {"className": "traefik"}}},
     "Ingress gateway", "spec.ingressClassName", "traefik"),
    ({"components": {"monitoring": True}, "monitoring": {"labels": {"release": "b"}}},
     "PrometheusRule company-registry", "metadata.labels.release", "b"),
    ({"components": {"monitoring": True}, "monitoring": {"runbooks": "https://a.test/docs"}},
     "PrometheusRule company-registry", "spec.groups.1.rules.0.annotations.runbook_url",
     "https://a.test/docs/runbook.md#lookupbudgetburnsfast"),
    ({"secrets": {"names": {"gateway-credentials": "mine"}}}, "Deployment gateway",
     "spec.template.spec.initContainers.0.env.0.valueFrom.secretKeyRef",
     {"name": "mine", "key": "MONGO_URL"}),
    ({"secrets": {"external": {"store": {"name": "vault"}, "prefix": "a/"}}},
     "ExternalSecret portal-session", "spec.data.0.remoteRef",
     {"key": "a/portal-session", "property": "SESSION_KEY"}),
    ({"image": {"registry": "r.test/mirror", "tag": "2"}}, "Deployment portal",
     "spec.template.spec.containers.0.image", "r.test/mirror/company-registry/portal:2"),
    ({"patches": [{"target": {"kind": "Service", "name": "portal"},
      "patch": "- {op: add, path: /spec/type, value: NodePort}"}]}, "Service portal",
     "spec.type", "NodePort"),
]  # fmt: skip


@pytest.mark.parametrize("values,name,path,expected", CHANGES, ids=lambda each: str(each)[:50])
def test_a_value_changes_its_part(
    values: Mapping[str, Any], name: str, path: str, expected: Any
) -> None:
    documents = {f"{each['kind']} {each['metadata']['name']}": each for each in template(values)}

    found: Any = documents[name]
    for part in path.split("."):
        found = found[int(part)] if part.isdigit() else found[part]

    assert found == expected


def test_another_setting_replaces_the_pods_that_read_it() -> None:
    """Dispatchers make the indexes of the webhook registry, and so read its settings, too."""
    changed = {"services": {"webhook-registry": {"settings": {"LOG_LEVEL": "DEBUG"}}}}

    before, after = (
        {each.name: each.template["metadata"] for each in workloads(template(values))}
        for values in ({}, changed)
    )

    assert sorted(name for name in before if before[name] != after[name]) == [
        "dispatcher",
        "webhook-registry",
    ]


@pytest.mark.parametrize(
    "values,sentence",
    [
        ({"components": {"gateway-api": True, "ingress": True}}, "at '/components'"),
        ({"components": {"unknown": True}}, "additional properties 'unknown' not allowed"),
        ({"services": {"gateway": {"replicas": "two"}}}, "got string, want integer"),
        ({"services": {"gatway": {}}}, "additional properties 'gatway' not allowed"),
        ({"image": {"registry": ""}}, "image.registry must name the registry of the images"),
        ({"patches": [{"target": {"kind": "Service"}, "patch": "- {op: remove, path: /spec/a}"}]},
         "nothing to remove at /spec/a"),
    ],
)  # fmt: skip
def test_wrong_values_are_refused_with_a_sentence(values: Mapping[str, Any], sentence: str) -> None:
    given = {"image": {"registry": "r.test"}, **values}
    words = [f"--set-json={key}={json.dumps(value)}" for key, value in given.items()]

    assert sentence in helm("template", "x", str(CHART), *words, fails=True)


def test_the_schema_knows_every_component() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    values = yaml.safe_load((CHART / "values.yaml").read_text())

    assert tuple(sorted(schema["properties"]["components"]["properties"])) == components()
    assert tuple(sorted(values["components"])) == components()
