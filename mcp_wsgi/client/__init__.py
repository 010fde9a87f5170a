"""Call MCP servers of either era, over HTTP, stdio or inside the process."""
