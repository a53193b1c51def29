"""A control plane for all tests of this folder, and a kubelet that plays the pods."""

import re
from collections.abc import Iterator

import pytest

from local_stack.servers import folder_of_servers
from tests.control_plane import newer
from tests.control_plane.kubelet import Kubelet
from tests.control_plane.plane import BUILT, ControlPlane


@pytest.fixture(scope="session")
def plane() -> Iterator[ControlPlane]:
    if not (BUILT / "built").exists():
        pytest.skip("there is no control plane: `make k8s` builds one in 10 to 30 minutes")
    with folder_of_servers() as folder:
        made = ControlPlane(folder / "kubernetes")
        made.begin()
        try:
            made.ready()
            server = newer.serve_translated(made)
            # Once in a cluster, for all its namespaces.
            made.run("kubectl", "apply", "--kustomize", "deploy/k8s/cluster")
            yield made
            server.shutdown()
            server.server_close()
            assert [
                each.end_report() for each in made.processes if each.exit_status is not None
            ] == []
        finally:
            made.stop()


@pytest.fixture(scope="session")
def kubelet(plane: ControlPlane) -> Iterator[Kubelet]:
    with Kubelet(plane) as made:
        yield made


@pytest.fixture
def namespace(request: pytest.FixtureRequest) -> str:
    """A name that no other test uses, of the test's own name."""
    return re.sub(r"[^a-z0-9]+", "-", request.node.name.removeprefix("test_"))[:40].strip("-")
