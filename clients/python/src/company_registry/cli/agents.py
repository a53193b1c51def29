"""`mcp`: the tools of the MCP server, for AI agents."""

import asyncio
from collections.abc import Callable
from typing import Annotated

import typer

from company_registry.cli.session import Exit, Session

_PORT = 8086
#: Seconds that an idle connection is kept, longer than a load balancer keeps it (60 s).
KEEP_ALIVE = 75


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
) -> None:
    """Serve the tools of the MCP server to an AI agent.

    Over stdio calls are made with the key of the profile, the environment or --key. Over HTTP
    each request brings its own in Authorization; the server's is never used.
    """
    try:
        from company_registry.mcp import Api, connections, http_app, mcp_server
    except ImportError:
        session.fail("the extra mcp is needed: pip install 'company-registry[mcp]'", Exit.USAGE)
    with session.failing():
        service = session.service()

    async def serve() -> None:
        async with connections(service.url) as shared:
            key = None if http else service.key
            server = mcp_server(Api(service.url, shared, key=key, public_url=public_url))
            if not http:
                await server.run_stdio_async()
                return
            import uvicorn

            config = uvicorn.Config(
                http_app(server, allowed_host),
                host=host,
                port=port,
                log_level="warning",
                access_log=False,
                server_header=False,
                timeout_keep_alive=KEEP_ALIVE,
            )
            session.note(f"MCP server for {service.url}: http://{host}:{port}/mcp")
            await uvicorn.Server(config).serve()

    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(serve())


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Returns the faster event loop, which Windows does not have."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
