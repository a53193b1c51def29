"""A Kubernetes API server with its controllers and etcd, on loopback, from `make control-plane`."""

import json
import os
import secrets
import ssl
import subprocess
from collections.abc import Mapping
from http.client import HTTPException, HTTPSConnection
from pathlib import Path
from typing import Any

import trustme
import yaml

from local_stack import ports
from local_stack.processes import Process, Program, Server, wait_for
from tests.contract.manifests.reading import ROOT

BUILT = ROOT / ".tools" / "control-plane"
_TOOLS = ROOT / ".tools" / "kubernetes"
#: Seconds for the API server to be ready on a busy machine; it takes 5.
START_TIMEOUT = 120.0

#: Of their own machines, networks and clouds, of which there are none.
_WITHOUT = (
    *("nodelifecycle", "nodeipam", "route", "service", "cloud-node-lifecycle", "csrsigning"),
    *("csrapproving", "csrcleaner", "attachdetach", "bootstrapsigner", "tokencleaner"),
)


class ControlPlane(Server):
    """One API server, with the user `admin`, of the group that may do everything."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        self.port, self._etcd, self._peer, self._controllers = ports.free_ports(4)
        self.token = secrets.token_hex(16)
        authority = trustme.CA()
        issued = authority.issue_cert("127.0.0.1", "localhost")
        folder.mkdir(parents=True, exist_ok=True)
        self.ca, self.certificate, self.key = (
            folder / name for name in ("ca.pem", "server.pem", "server.key")
        )
        authority.cert_pem.write_to_path(self.ca)
        issued.cert_chain_pems[0].write_to_path(self.certificate)
        issued.private_key_pem.write_to_path(self.key)

    @property
    def kubeconfig(self) -> Path:
        return self.folder / "kubeconfig"

    @property
    def environment(self) -> dict[str, str]:
        """Variables with which kubectl and helm use this control plane, and no other one."""
        return {
            **os.environ,
            "KUBECONFIG": str(self.kubeconfig),
            "HELM_CACHE_HOME": str(self.folder / "helm"),
            "HELM_CONFIG_HOME": str(self.folder / "helm"),
            "HELM_DATA_HOME": str(self.folder / "helm"),
            "PATH": f"{_TOOLS}:{os.environ['PATH']}",
        }

    def begin(self) -> None:
        self._write_files()
        self._running = [
            self._started(
                "etcd",
                *("--data-dir", str(self.folder / "etcd"), "--unsafe-no-fsync"),
                *("--listen-client-urls", f"http://127.0.0.1:{self._etcd}"),
                *("--advertise-client-urls", f"http://127.0.0.1:{self._etcd}"),
                *("--listen-peer-urls", f"http://127.0.0.1:{self._peer}"),
                *("--initial-advertise-peer-urls", f"http://127.0.0.1:{self._peer}"),
                *("--initial-cluster", f"default=http://127.0.0.1:{self._peer}"),
            ),
            self._started(
                "kube-apiserver",
                *(f"--etcd-servers=http://127.0.0.1:{self._etcd}", f"--secure-port={self.port}"),
                *("--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", "--insecure-port=0"),
                *(f"--tls-cert-file={self.certificate}", f"--tls-private-key-file={self.key}"),
                f"--token-auth-file={self.folder / 'tokens.csv'}",
                *("--authorization-mode=RBAC", "--endpoint-reconciler-type=none"),
                "--service-cluster-ip-range=10.96.0.0/16",
                f"--service-account-key-file={self.key}",
                "--service-account-issuer=https://127.0.0.1",
                f"--service-account-signing-key-file={self.key}",
                f"--proxy-client-cert-file={self.certificate}",
                f"--proxy-client-key-file={self.key}",
                "--feature-gates=TTLAfterFinished=true",
            ),
        ]  # fmt: skip

    def ready(self) -> None:
        def answers(path: str) -> bool:
            try:
                return self.call("GET", path)[0] == 200
            except (OSError, HTTPException):
                return False

        self._running[1].wait_until(lambda: answers("/readyz"), seconds=START_TIMEOUT)
        # The controllers end by themselves where the API server does not answer within 10 s.
        self._running.append(
            self._started(
                "kube-controller-manager",
                *(f"--kubeconfig={self.kubeconfig}", "--leader-elect=false"),
                f"--service-account-private-key-file={self.key}",
                *("--use-service-account-credentials=false", "--bind-address=127.0.0.1"),
                *("--port=0", f"--secure-port={self._controllers}"),
                "--feature-gates=TTLAfterFinished=true",
                "--controllers=" + ",".join(["*", *(f"-{each}" for each in _WITHOUT)]),
                *("--horizontal-pod-autoscaler-sync-period=1s", "--concurrent-gc-syncs=5"),
            )
        )  # fmt: skip
        account = "/api/v1/namespaces/default/serviceaccounts/default"
        self._running[2].wait_until(lambda: answers(account), seconds=START_TIMEOUT)

    def call(
        self, method: str, path: str, body: Any = None, kind: str = "application/json"
    ) -> tuple[int, Any]:
        """Returns the status and the JSON of the answer to one request of the user `admin`."""
        context = ssl.create_default_context(cafile=str(self.ca))
        connection = HTTPSConnection("127.0.0.1", self.port, timeout=30, context=context)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": kind}
        try:
            connection.request(
                method, path, json.dumps(body) if body is not None else None, headers
            )
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        is_json = "json" in (answer.getheader("Content-Type") or "")
        return answer.status, json.loads(text) if is_json else text.decode()

    def run(self, *words: str, given: str | None = None, fails: bool = False) -> str:
        """Returns what kubectl or Helm print, as a person types them; their errors if they fail."""
        done = subprocess.run(
            words, input=given, env=self.environment, capture_output=True, text=True, timeout=170,
            check=False, cwd=ROOT,
        )  # fmt: skip
        assert (done.returncode != 0) == fails, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout + done.stderr if fails else done.stdout

    def until(self, holds: Any, *, seconds: float = 60.0) -> None:
        assert wait_for(holds, seconds=seconds), self._running[2].log_tail()

    def _started(self, program: str, *options: str) -> Process:
        log = self.folder / f"{program}.log"
        return Process(Program(program, [str(BUILT / program), *options], log))

    def _write_files(self) -> None:
        (self.folder / "tokens.csv").write_text(f'{self.token},admin,1,"system:masters"\n')
        server = {"server": f"https://127.0.0.1:{self.port}", "certificate-authority": str(self.ca)}
        self.kubeconfig.write_text(
            yaml.safe_dump(
                _named(cluster=server, user={"token": self.token}) | {"current-context": "tests"}
            )
        )


def _named(**parts: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        **{f"{kind}s": [{"name": "tests", kind: part}] for kind, part in parts.items()},
        "contexts": [{"name": "tests", "context": {"cluster": "tests", "user": "tests"}}],
    }
