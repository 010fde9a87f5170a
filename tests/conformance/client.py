"""The client that the official conformance suite examines: python tests/conformance/client.py URL

The suite says in the environment which scenario it plays and on which revision. It sees only what the client sends,
so each scenario here also looks at what the client makes of the answers; anything wrong ends it with a traceback.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from mcp_wsgi.client import CallResult, Client
from mcp_wsgi.protocol.versions import is_legacy_version

__all__ = ["SCENARIOS"]


def initialize(client: Client, context: Any) -> None:
    """Connect, and see that there are no tools."""
    client.connect()
    client.list_tools()


def tools_call(client: Client, context: Any) -> None:
    """Add two numbers."""
    assert [tool.name for tool in client.list_tools()] == ["add_numbers"]
    assert client.call_tool("add_numbers", {"a": 2, "b": 3.5}).text == "The sum of 2 and 3.5 is 5.5"


def request_metadata(client: Client, context: Any) -> None:
    """Do several requests."""
    assert client.list_tools() == ()
    assert client.call_tool("anything").content == ()


def request_state(client: Client, context: Any) -> None:
    """Answer a question, with another call before it is done."""
    for name in ("test_mrtr_echo_state", "test_mrtr_unrelated", "test_mrtr_no_state", "test_mrtr_no_result_type"):
        result = client.call_tool(name)
        assert isinstance(result, CallResult)
        assert result.text, name


def standard_headers(client: Client, context: Any) -> None:
    """Send everything that has a name in a header."""
    for tool in client.list_tools():
        assert client.call_tool(tool.name).text == "Headers test completed"
    for resource in client.list_resources():
        assert client.read_resource(resource.uri).contents == ()
    for prompt in client.list_prompts():
        assert client.get_prompt(prompt.name).messages == ()


def custom_headers(client: Client, context: Any) -> None:
    """Make the calls that the suite asks for."""
    assert {tool.name for tool in client.list_tools()} >= {call["name"] for call in context["toolCalls"]}
    for call in context["toolCalls"]:
        assert not client.call_tool(call["name"], call["arguments"]).is_error


def invalid_tool_headers(client: Client, context: Any) -> None:
    """Call every tool that is left of the list."""
    tools = client.list_tools()
    assert [tool.name for tool in tools] == ["valid_tool"]
    for tool in tools:
        assert not client.call_tool(tool.name, {"region": "here"}).is_error


def no_dereference(client: Client, context: Any) -> None:
    """List a tool whose schema refers to something on the network."""
    (tool,) = client.list_tools()
    assert "$ref" in json.dumps(tool.input_schema)


def preservation(client: Client, context: Any) -> None:
    """Send a schema back as it came."""
    tools = {tool.name: tool for tool in client.list_tools()}
    client.call_tool("json_schema_echo", {"schema": tools["json_schema_2020_12_tool"].input_schema})


def elicitation_defaults(client: Client, context: Any) -> None:
    """Be asked outside of any request, and accept what is proposed."""
    assert [tool.name for tool in client.list_tools()] == ["test_client_elicitation_defaults"]
    assert not client.call_tool("test_client_elicitation_defaults").is_error


def sse_retry(client: Client, context: Any) -> None:
    """Get the rest of a stream that was cut."""
    assert client.call_tool("test_reconnection").text


SCENARIOS: dict[str, Callable[[Client, Any], None]] = {
    "initialize": initialize,
    "tools_call": tools_call,
    "request-metadata": request_metadata,
    "sep-2322-client-request-state": request_state,
    "http-standard-headers": standard_headers,
    "http-custom-headers": custom_headers,
    "http-invalid-tool-headers": invalid_tool_headers,
    "json-schema-ref-no-deref": no_dereference,
    "json-schema-2020-12-preservation": preservation,
    "elicitation-sep1034-client-defaults": elicitation_defaults,
    "sse-retry": sse_retry,
}


def main(words: list[str]) -> None:
    """Play the scenario that the environment names. The client finds out itself which era it meets."""
    (url,) = words
    scenario = SCENARIOS[os.environ["MCP_CONFORMANCE_SCENARIO"]]
    revision = os.environ["MCP_CONFORMANCE_PROTOCOL_VERSION"]
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "null"))
    with Client(url, elicit=_accept, sample=_sample, roots=["file:///somewhere"], timeout=60) as client:
        scenario(client, context)
        assert (client.era == "legacy") is is_legacy_version(revision), client.protocol_version


def _accept(question: Any) -> dict[str, Any]:
    return {"confirmed": True} if "confirmed" in question.schema["properties"] else {}


def _sample(question: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": {"type": "text", "text": "Nothing to say."}, "model": "none"}


if __name__ == "__main__":
    main(sys.argv[1:])
