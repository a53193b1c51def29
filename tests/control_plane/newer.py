"""Kinds that Kubernetes 1.20 does not have: kinds of its own later versions, and those of others.

`policy/v1` and `autoscaling/v2` are served by an aggregated API server that translates them to
`policy/v1beta1` and `autoscaling/v2beta2`, so that the controllers of 1.20 act on them. Kinds of
others, such as HTTPRoute, are stored as any object: no schema checks them, and no controller acts.
"""

import re
import ssl
from collections.abc import Iterable, Mapping
from contextlib import suppress
from http.client import HTTPSConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from local_stack import ports
from tests.control_plane.plane import ControlPlane

#: Of each group the version of the manifests, and the one of 1.20 with the same fields.
TRANSLATED = {"policy": ("v1", "v1beta1"), "autoscaling": ("v2", "v2beta2")}
#: Fields that 1.20 does not know, and one that only later ones fill in for server-side apply, as
#: patches of a kustomization or of the chart.
OLDER: list[dict[str, Any]] = [
    {"target": target, "patch": f"- {patch}"}
    for target, patch in (
        ({"kind": "PodDisruptionBudget"}, "{op: remove, path: /spec/unhealthyPodEvictionPolicy}"),
        ({"kind": "StatefulSet"}, "{op: remove, path: /spec/persistentVolumeClaimRetentionPolicy}"),
        (
            {"kind": "NetworkPolicy", "name": "internet"},
            "{op: remove, path: /spec/egress/0/ports/0/endPort}",
        ),
        ({"kind": "Service"}, "{op: add, path: /spec/ports/0/protocol, value: TCP}"),
    )
]
_SERVICE = {
    "metadata": {"name": "newer"},
    "spec": {"type": "ExternalName", "externalName": "localhost"},
}


def serve_translated(plane: ControlPlane) -> ThreadingHTTPServer:
    """Serves the groups of TRANSLATED in their newer version through the API server."""
    port = ports.free_ports(1)[0]
    server = ThreadingHTTPServer(("127.0.0.1", port), _handler(plane))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(plane.certificate, plane.key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    Thread(target=server.serve_forever, daemon=True).start()
    _make(plane, "/api/v1/namespaces/default/services", _SERVICE)
    services = "/apis/apiregistration.k8s.io/v1/apiservices"
    for group, (version, _) in TRANSLATED.items():
        spec = {
            "group": group,
            "version": version,
            "groupPriorityMinimum": 17000,
            "versionPriority": 20,
            "insecureSkipTLSVerify": True,
            "service": {"name": "newer", "namespace": "default", "port": port},
        }
        _make(plane, services, {"metadata": {"name": f"{version}.{group}"}, "spec": spec})
    for group, (version, _) in TRANSLATED.items():
        plane.until(lambda path=f"/apis/{group}/{version}": plane.call("GET", path)[0] == 200)
    return server


def _handler(plane: ControlPlane) -> type[BaseHTTPRequestHandler]:
    context = ssl.create_default_context(cafile=str(plane.ca))

    class Translator(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            connection = HTTPSConnection("127.0.0.1", plane.port, context=context)
            try:
                self._relay(connection)
            finally:
                connection.close()

        def _relay(self, connection: HTTPSConnection) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {
                "Authorization": f"Bearer {plane.token}",
                # Protobuf has lengths, which a translation would change.
                "Accept": re.sub(r"[^,]*protobuf[^,]*,?", "", self.headers.get("Accept") or ""),
                "Content-Type": self.headers.get("Content-Type") or "application/json",
            }
            path = _older(self.path.encode()).decode()
            connection.request(self.command, path, _older(body) or None, headers)
            answer = connection.getresponse()
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.getheader("Content-Type") or "text/plain")
            self.end_headers()
            # A line is an event of a watch, or a whole answer.
            while line := answer.readline():
                self.wfile.write(_newer(line))
                self.wfile.flush()

        def handle(self) -> None:
            # A client that has seen enough of a watch goes away.
            with suppress(OSError):
                super().handle()

        do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815 (names of http.server)

        def log_message(self, *_: object) -> None:
            pass

    return Translator


def _older(text: bytes) -> bytes:
    for group, (new, old) in TRANSLATED.items():
        text = re.sub(rf"\b{group}/{new}\b".encode(), f"{group}/{old}".encode(), text)
    return text


def _newer(text: bytes) -> bytes:
    for group, (new, old) in TRANSLATED.items():
        text = text.replace(f"{group}/{old}".encode(), f"{group}/{new}".encode())
    return text


def define_kinds(plane: ControlPlane, documents: Iterable[Mapping[str, Any]]) -> None:
    """Makes the API server store the documents' kinds that belong to no Kubernetes."""
    for version, kind in sorted({(each["apiVersion"], each["kind"]) for each in documents}):
        status, known = plane.call("GET", f"/apis/{version}")
        is_known = status == 200 and kind in {each["kind"] for each in known["resources"]}
        if is_known or "." not in version:
            continue
        group, _, number = version.partition("/")
        plural = f"{kind.lower()}s"
        schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        versions = [
            {"name": number, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
        ]
        spec = {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind},
            "versions": versions,
        }
        metadata = {
            "name": f"{plural}.{group}",
            "annotations": {"api-approved.kubernetes.io": "unapproved, of a test"},
        }
        definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        _make(plane, definitions, {"metadata": metadata, "spec": spec})
        path = f"/apis/{version}/namespaces/default/{plural}"
        plane.until(lambda path=path: plane.call("GET", path)[0] == 200)


def _make(plane: ControlPlane, path: str, body: Mapping[str, Any]) -> None:
    status, answer = plane.call("POST", path, body)
    assert status in (201, 409), answer
