"""`make run`: from nothing to a service that answers, until Ctrl-C."""

import shutil
import signal
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from types import FrameType

from common.domain.sentences import counted
from local_stack import SetupError
from local_stack.alone import Watch, alone
from local_stack.registers import make_samples
from local_stack.run_files import env_file
from local_stack.services import INGEST, PORTAL, SERVICES, receiver_certificates
from local_stack.settings import StackSettings
from local_stack.stack import (
    Run,
    begin_mcp,
    begin_mongodb,
    begin_rabbitmq,
    begin_registers,
    check,
    make_indexes,
    prepare,
    start_services,
)
from local_stack.system import System


class _Stopped(BaseException):
    """The run received a signal to stop."""


def run(settings: StackSettings) -> None:
    """Runs until it is requested to stop; exits with 1 if one of its processes failed."""
    signal.signal(signal.SIGINT, _stop)
    signal.signal(signal.SIGTERM, _stop)
    try:
        with alone(settings.run_dir), ExitStack() as stack:
            try:
                _live(settings, stack)
            except SetupError as error:
                # Printed before everything is stopped, which takes some seconds.
                sys.stderr.write(f"{error}\n")
                sys.exit(1)
            finally:
                # A second Ctrl-C would leave processes running.
                signal.signal(signal.SIGINT, signal.SIG_IGN)
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
    except _Stopped:
        _say("Stopped.")


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise _Stopped


def _live(settings: StackSettings, stack: ExitStack) -> None:
    begun = time.monotonic()
    run = Run(settings, stack, Watch(settings.run_dir))
    check(settings)
    # The logs of an earlier run could be mistaken for this one's.
    shutil.rmtree(run.logs, ignore_errors=True)
    _say("Starting MongoDB and RabbitMQ …")
    mongodb, rabbitmq = begin_mongodb(run), begin_rabbitmq(run)
    addresses_of_registers = begin_registers(run)
    urls = {**mongodb.urls, **rabbitmq.urls}
    system = System(run.logs, urls["AMQP_URL"], urls["MONGO_URL"], {}, base_port=settings.http_port)
    samples = make_samples(settings.run_dir / "samples", companies=settings.sample_companies)
    mongodb.ready()
    # RabbitMQ takes longest to start, and only the services need it.
    make_indexes(system)
    _say(f"Loading the sample registers ({counted(settings.sample_companies, 'company')} each) …")
    api_key = prepare(settings.run_dir, system, samples)
    _say(f"Starting {', '.join(service.module for service in (*SERVICES, INGEST, PORTAL))} …")
    rabbitmq.ready()
    mcp_ready = begin_mcp(run)
    start_services(run, system, (*SERVICES, PORTAL))
    start_services(run, system, [INGEST], **addresses_of_registers())
    mcp_ready()
    values = _environment(settings, urls, api_key)
    stack.enter_context(env_file(settings.run_dir, values))
    _say(_welcome(settings, values, seconds=time.monotonic() - begun))
    stack.callback(_say, "Stopping …")
    run.watch.follow()


def _environment(settings: StackSettings, urls: Mapping[str, str], api_key: str) -> dict[str, str]:
    """Returns the addresses and keys that scripts need."""
    admin = {
        service.admin_url_name: f"http://127.0.0.1:{service.port(settings)}"
        for service in (*SERVICES, INGEST, PORTAL)
    }
    return {
        "BASE_URL": settings.base_url,
        "PORTAL_URL": settings.portal_url,
        "MCP_URL": settings.mcp_url,
        "API_KEY": api_key,
        **urls,
        **admin,
        "PORT_OFFSET": str(settings.port_offset),
        "CA_FILE": str(receiver_certificates(settings).ca_file),
    }


def _welcome(settings: StackSettings, values: Mapping[str, str], *, seconds: float) -> str:
    base_url, api_key = values["BASE_URL"], values["API_KEY"]
    ports = " ".join(f"{name}={port}" for name, port in settings.run_ports.items())
    return f"""
Ready after {seconds:.0f} s: {base_url} (its documentation: {base_url}/docs)
The portal, in a browser: {values["PORTAL_URL"]} (sign in with the key)
An API key with every scope: {api_key}
PORT_OFFSET={settings.port_offset}: {ports}

  curl '{base_url}/api?country=no&vat=310345679'
  curl -G '{base_url}/api/name' -d country=dk --data-urlencode 'q=prøvefabriken'
  curl -G '{base_url}/api/address' -d country=no --data-urlencode 'q=Prøveveien 12, Oslo' \\
       -d include=owners,production_units -d format=xml -H 'Authorization: Bearer {api_key}'

  . .venv/bin/activate; . {settings.run_dir}/env
  company-registry lookup dk 12345674

The MCP server for AI agents: {values["MCP_URL"]} (other clients: docs/agents.md)
  claude mcp add --transport http company-registry {values["MCP_URL"]} \\
       --header 'Authorization: Bearer {api_key}'

Every few seconds something changes in the registers ({settings.run_dir}/logs/registers.log).
To receive these changes with a webhook: README.md, "Subscribe to changes".
All of this as shell variables: {settings.run_dir}/env · logs: {settings.run_dir}/logs
Ctrl-C, or “make stop” from elsewhere, ends everything.
"""


def _say(text: str) -> None:
    print(text, flush=True)
