"""Steps and streams on an event loop, for the doors that have one: ASGI, and Django under ASGI."""
