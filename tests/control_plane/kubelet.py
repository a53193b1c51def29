"""A kubelet that plays the containers: it starts, readies and ends pods, and notes the order.

It does what a node does for the API server: it binds pods to its node, says when they run and are
ready, ends those that are being deleted, and serves the logs of Jobs.
"""

import ssl
from collections.abc import Callable
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

from local_stack import ports
from tests.control_plane.plane import ControlPlane

Pod = dict[str, Any]
NODE = "node-1"
_NAME = "app.kubernetes.io/name"
_MERGE = "application/merge-patch+json"


class Kubelet:
    """The containers of every pod run until it is deleted; those of a Job end at once."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        #: `start <namespace> <service> <tag>`, `end <namespace> <service> <tag>` and
        #: `job <namespace> <image> <arguments>`, in their order.
        self.history: list[str] = []
        #: True for a pod whose containers never become ready.
        self.is_broken: Callable[[Pod], bool] = lambda _: False
        self._port = ports.free_ports(1)[0]
        self._ended = Event()
        self._seen: dict[str, str] = {}
        self._loop = Thread(target=self._work, daemon=True)
        self._server = self._log_server()

    def __enter__(self) -> "Kubelet":
        self._call("POST", "/api/v1/nodes", {"metadata": {"name": NODE}})
        addresses = [{"type": "InternalIP", "address": "127.0.0.1"}]
        endpoints = {"kubeletEndpoint": {"Port": self._port}}
        ready = [{"type": "Ready", "status": "True"}]
        status = {"addresses": addresses, "daemonEndpoints": endpoints, "conditions": ready}
        self._call("PATCH", f"/api/v1/nodes/{NODE}/status", {"status": status})
        Thread(target=self._server.serve_forever, daemon=True).start()
        self._loop.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._loop.join(30)
        self._server.shutdown()
        self._server.server_close()

    def pods(self, namespace: str) -> list[Pod]:
        """Returns the pods of the namespace, in their order by name."""
        found = self._plane.call("GET", f"/api/v1/namespaces/{namespace}/pods")[1]["items"]
        return sorted(found, key=lambda pod: str(pod["metadata"]["name"]))

    def services(self, namespace: str) -> dict[str, int]:
        """Returns how many pods of each service are ready."""
        ready = [each for each in self.pods(namespace) if _is_ready(each)]
        names = [each["metadata"]["labels"][_NAME] for each in ready]
        return {name: names.count(name) for name in sorted(set(names))}

    def noted(self, start: int, namespace: str, *kinds: str) -> list[str]:
        """Returns what happened in the namespace since then, without its name."""
        words = [each.split(" ", 2) for each in self.history[start:]]
        return [
            f"{kind} {rest}" for kind, where, rest in words if where == namespace and kind in kinds
        ]

    def _work(self) -> None:
        while not self._ended.wait(0.1):
            status, found = self._plane.call("GET", "/api/v1/pods")
            if status != 200:
                continue
            present = {pod["metadata"]["uid"] for pod in found["items"]}
            for gone in self._seen.keys() - present:
                self.history.append(self._seen.pop(gone))
            for pod in found["items"]:
                self._tend(pod)

    def _tend(self, pod: Pod) -> None:
        metadata = pod["metadata"]
        path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
        is_done = pod["status"].get("phase") in ("Succeeded", "Failed")
        if "deletionTimestamp" in metadata:
            self._call("DELETE", path, {"gracePeriodSeconds": 0})
        elif "nodeName" not in pod["spec"]:
            target = {
                "target": {"kind": "Node", "name": NODE},
                "metadata": {"name": metadata["name"]},
            }
            self._call("POST", f"{path}/binding", {"kind": "Binding", "apiVersion": "v1", **target})
        elif not is_done and not _is_ready(pod) and not self.is_broken(pod):
            self._start(pod, path)

    def _start(self, pod: Pod, path: str) -> None:
        is_job = pod["spec"]["restartPolicy"] != "Always"
        ready = "False" if is_job else "True"
        kinds = ("PodScheduled", "Initialized", "ContainersReady", "Ready")
        status: dict[str, Any] = {
            "phase": "Succeeded" if is_job else "Running",
            "conditions": [{"type": kind, "status": ready} for kind in kinds],
        }
        [container] = pod["spec"]["containers"]
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        state = {"terminated": {"exitCode": 0}} if is_job else {"running": {"startedAt": now}}
        named = {key: container[key] for key in ("name", "image")}
        shown = {**named, "imageID": "", "ready": not is_job, "restartCount": 0, "state": state}
        status |= {"startTime": now, "containerStatuses": [shown]}
        service, _, tag = container["image"].rpartition("/")[2].partition(":")
        where, name = pod["metadata"]["namespace"], pod["metadata"]["labels"].get(_NAME, service)
        if self._call("PATCH", f"{path}/status", {"status": status}) != 200:
            return
        if is_job:
            self.history.append(f"job {where} {service} {' '.join(container.get('args', []))}")
        else:
            self.history.append(f"start {where} {name} {tag}")
            self._seen[pod["metadata"]["uid"]] = f"end {where} {name} {tag}"

    def _call(self, method: str, path: str, body: Any = None) -> int:
        kind = _MERGE if method == "PATCH" else "application/json"
        return self._plane.call(method, path, body, kind)[0]

    def _log_server(self) -> ThreadingHTTPServer:
        """A container prints its arguments."""
        plane = self._plane

        class Logs(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                # /containerLogs/<namespace>/<pod>/<container>
                namespace, pod, _ = self.path.partition("?")[0].split("/")[2:]
                found = plane.call("GET", f"/api/v1/namespaces/{namespace}/pods/{pod}")[1]
                text = " ".join(found["spec"]["containers"][0].get("args", [])).encode() + b"\n"
                self.send_response(200)
                self.send_header("Content-Type", "text/plain")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", self._port), Logs)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(plane.certificate, plane.key)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        return server


def _is_ready(pod: Pod) -> bool:
    return {"type": "Ready", "status": "True"}.items() <= next(
        (each for each in pod["status"].get("conditions", []) if each["type"] == "Ready"), {}
    ).items()
