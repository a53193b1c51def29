"""The MCP server where it runs: its image, Compose, Kubernetes, and the entry of the registry."""

import json
import re
import tomllib
from typing import Any

import typer

from company_registry.cli.app import app
from company_registry.mcp.server import GUIDES
from gateway.http.documentation import guides
from tests.contract.manifests.reading import ROOT, of_kind, rendered, workloads
from tests.contract.test_images import CONTAINERS, SCRAPED, STAGES, instructions
from tests.contract.test_manifests import (
    pods_are_restricted,
    resources_are_limited,
    selectors_find_their_pods,
    with_kubectl,
)

CLIENT = tomllib.loads((ROOT / "clients" / "python" / "pyproject.toml").read_text())["project"]
COMPONENT = "components/mcp"
SETUP = (ROOT / "docs" / "agents.md").read_text()
PORT, METRICS_PORT = 8086, 9108


def options() -> set[str]:
    command: Any = typer.main.get_command(app)
    return {name for each in command.commands["mcp"].params for name in each.opts}


def unknown(arguments: list[str]) -> set[str]:
    return {each for each in arguments if each.startswith("--")} - options()


def test_the_image_serves_http_and_is_checked_at_its_port() -> None:
    assert "mcp" in STAGES
    assert instructions("mcp", "EXPOSE") == [str(PORT)]
    assert instructions("mcp", "ENTRYPOINT") == ['["python", "-m", "company_registry.cli"]']
    [command] = instructions("mcp", "CMD")
    assert unknown(json.loads(command)) == set()
    [check] = instructions("mcp", "HEALTHCHECK")
    assert check.endswith(f'CMD ["healthy", "{PORT}"]')
    assert re.search(r"ours mcp company-registry\b", STAGES["ours"][1])
    [name] = re.findall(r'modelcontextprotocol\.server\.name="(.*?)"', STAGES["mcp"][1])
    assert name == json.loads((ROOT / "clients" / "python" / "server.json").read_text())["name"]


def test_the_trial_starts_it_only_with_its_profile() -> None:
    container = CONTAINERS["mcp"]

    assert container["profiles"] == ["mcp"]
    assert unknown(container["command"]) == set()
    assert container["ports"] == [f"127.0.0.1:{PORT}:{PORT}"]
    assert f"--metrics-port {METRICS_PORT}" in " ".join(container["command"])
    assert SCRAPED["mcp"] == ("mcp", METRICS_PORT)


@with_kubectl
def test_the_component_is_restricted_and_reaches_the_gateway_alone() -> None:
    documents = rendered(COMPONENT)
    [server] = [each for each in workloads(documents) if each.name == "mcp"]

    rules = (pods_are_restricted, resources_are_limited, selectors_find_their_pods)
    assert [fault for rule in rules for fault in rule(documents)] == []
    assert server.image == f"company-registry/mcp:{CLIENT['version']}"
    assert unknown(server.container["args"]) == set()
    assert server.ports == {"http": PORT, "metrics": METRICS_PORT}
    assert f"--metrics-port {METRICS_PORT}" in " ".join(server.container["args"])
    labels = server.template["metadata"]["labels"]
    assert labels == {"app.kubernetes.io/name": "mcp"}
    reached = [
        to["podSelector"]["matchLabels"]
        for policy in of_kind(documents, "NetworkPolicy")
        if policy["spec"]["podSelector"] == {"matchLabels": labels}
        for rule in policy["spec"].get("egress", [])
        for to in rule["to"]
        if "podSelector" in to
    ]
    assert reached == [{"app.kubernetes.io/name": "gateway"}, {"k8s-app": "kube-dns"}]


def test_the_entry_of_the_registry_has_its_form() -> None:
    entry = json.loads((ROOT / "clients" / "python" / "server.json").read_text())

    assert entry["$schema"].endswith("/schemas/2025-12-11/server.schema.json")
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", entry["name"])
    assert 1 <= len(entry["description"]) <= 100
    assert entry["version"] == CLIENT["version"]
    [package] = entry["packages"]
    assert package["identifier"].endswith(f"/mcp:{CLIENT['version']}")
    assert package["transport"] == {"type": "stdio"}
    assert [one["name"] for one in package["environmentVariables"] if one.get("isSecret")] == [
        "COMPANY_REGISTRY_API_KEY"
    ]
    [remote] = entry["remotes"]
    assert remote["type"] == "streamable-http"
    [header] = remote["headers"]
    assert (header["name"], header["isSecret"]) == ("Authorization", True)


def test_the_guide_configures_clients_with_what_exists() -> None:
    blocks = [json.loads(each) for each in re.findall(r"```json\n(.*?)```", SETUP, re.DOTALL)]

    assert [next(iter(block.keys() - {"inputs"})) for block in blocks] == [
        "mcpServers",
        "mcpServers",
        "servers",
    ]
    assert set(re.findall(r"`(--[a-z-]+)`", SETUP)) <= options()
    assert f"127.0.0.1 and {PORT}" in SETUP


def test_every_guide_that_agents_are_offered_exists() -> None:
    assert GUIDES.keys() <= guides().files.keys()
