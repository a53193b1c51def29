"""`mcp`: the tools of the MCP server, for AI agents."""

import asyncio
from collections.abc import Callable
from ipaddress import ip_network
from typing import Annotated

import typer

from company_registry.cli.session import Exit, Session

_PORT = 8086


def mcp(  # noqa: PLR0913 (the options)
    session: Session,
    *,
    http: Annotated[
        bool, typer.Option("--http", help="Serve Streamable HTTP instead of stdio.")
    ] = False,
    host: Annotated[str, typer.Option(help="Address to listen on, with --http.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65_535, help="Port, with --http.")] = _PORT,
    allowed_host: Annotated[
        list[str],
        typer.Option(help="Public host name of the server beside loopback; may be repeated."),
    ] = [],  # noqa: B006 (Typer copies it)
    public_url: Annotated[
        str, typer.Option(help="URL of the service in answers, if --url is an internal one.")
    ] = "",
    trusted_proxy: Annotated[
        list[str],
        typer.Option(help="Network whose X-Forwarded-For is trusted; may be repeated."),
    ] = [],  # noqa: B006 (Typer copies it)
    address_rate: Annotated[
        str, typer.Option(help="Rate of an address without a valid key, such as 300/minute.")
    ] = "300/minute",
    key_rate: Annotated[str, typer.Option(help="Rate of a key.")] = "1200/minute",
    max_connections: Annotated[int, typer.Option(min=1, help="Open connections.")] = 400,
    max_calls: Annotated[int, typer.Option(min=1, help="Calls at the same time.")] = 128,
    max_body: Annotated[int, typer.Option(min=1024, help="Bytes of a request.")] = 256 * 1024,
    max_bodies: Annotated[
        int, typer.Option(min=1, help="Requests that are being received at the same time.")
    ] = 32,
    head_timeout: Annotated[float, typer.Option(min=0.1, help="Seconds for a head.")] = 15.0,
    body_timeout: Annotated[float, typer.Option(min=0.1, help="Seconds for a body.")] = 10.0,
    metrics_port: Annotated[
        int, typer.Option(min=0, max=65_535, help="Port of /metrics for Prometheus; 0: none.")
    ] = 0,
) -> None:
    """Serve the tools of the MCP server to an AI agent.

    Over stdio calls are made with the key of the profile, the environment or --key. Over HTTP
    each request brings its own in Authorization; the server's is never used.
    """
    try:
        from company_registry.mcp import Api, Limits, connections, mcp_server, parse_rate, serve
    except ImportError:
        session.fail("the extra mcp is needed: pip install 'company-registry[mcp]'", Exit.USAGE)
    with session.failing():
        service = session.service()
        limits = Limits(
            connections=max_connections,
            calls=max_calls,
            head_timeout=head_timeout,
            body_timeout=body_timeout,
            max_body=max_body,
            bodies=max_bodies,
            address_rate=parse_rate(address_rate),
            key_rate=parse_rate(key_rate),
            trusted_proxies=tuple(map(ip_network, trusted_proxy)),
        )

    async def run() -> None:
        async with connections(service.url) as shared:
            key = None if http else service.key
            api = Api(service.url, shared, key=key, public_url=public_url)
            if http:
                await serve(api, host, port, allowed_host, limits, metrics_port)
            else:
                await mcp_server(api).run_stdio_async()

    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(run())


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Returns the faster event loop, which Windows does not have."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
