"""A library's Django project, with an MCP server for its staff: what a user of mcp_wsgi would write."""
