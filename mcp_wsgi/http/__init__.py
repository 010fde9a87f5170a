"""The MCP endpoint as a pure function of HTTP: a request in, a response out, for every door."""
