"""The MCP server: the API's operations as tools for AI agents.

It needs the extra `mcp` (`pip install company-registry[mcp]`), and is a client of the public API
like any other: each call is made with the agent's own key.
"""

from company_registry.mcp.api import Api
from company_registry.mcp.connections import connections
from company_registry.mcp.guard import Limits
from company_registry.mcp.rates import parse_rate
from company_registry.mcp.server import mcp_server, serve

__all__ = ["Api", "Limits", "connections", "mcp_server", "parse_rate", "serve"]
