"""The server that the official conformance suite examines: everything its scenarios ask for by name.

Names, keys and contents are the suite's own convention. The tools that ask questions are in `questions.py`.
"""

from __future__ import annotations

import base64
import io
import secrets
import time
import wave
from typing import Annotated, Any

from mcp_wsgi import (
    LOOPBACK_HOSTS,
    LOOPBACK_ORIGINS,
    Audio,
    Completion,
    Context,
    EmbeddedResource,
    HTTPPolicy,
    Image,
    ResourceContents,
    Server,
    ToolError,
)
from tests.conformance.questions import PROMPTS, TOOLS

__all__ = ["POLICY", "server"]

# The suite opens several subscriptions and leaves them without a word: a short keep-alive notices that soon.
POLICY = HTTPPolicy(
    allowed_origins=LOOPBACK_ORIGINS,
    allowed_hosts=LOOPBACK_HOSTS,
    keep_alive=1.0,
    max_listens=10,
)

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def _silence() -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(1)
        sound.setframerate(8000)
        sound.writeframes(b"\x80" * 80)
    return file.getvalue()


WAV = _silence()

server = Server("conformance", version="1.0", keys=["only for the conformance suite"])


@server.tool
def test_simple_text() -> str:
    """Return a text."""
    return "This is a simple text response for testing."


@server.tool
def test_image_content() -> Image:
    """Return an image."""
    return Image(PNG)


@server.tool
def test_audio_content() -> Audio:
    """Return a sound."""
    return Audio(WAV)


@server.tool
def test_embedded_resource() -> EmbeddedResource:
    """Return a resource inside the result."""
    return EmbeddedResource(
        ResourceContents("This is an embedded resource.", uri="test://embedded-resource", mime_type="text/plain")
    )


@server.tool
def test_multiple_content_types() -> list[str | Image | EmbeddedResource]:
    """Return a text, an image and a resource."""
    mixed = ResourceContents('{"test": true}', uri="test://mixed-content-resource", mime_type="application/json")
    return ["Several kinds of content:", Image(PNG), EmbeddedResource(mixed)]


@server.tool
def test_error_handling() -> str:
    """Fail in a way that the model may read about."""
    raise ToolError("This tool fails on purpose.")


@server.tool
def test_tool_with_progress(ctx: Context) -> str:
    """Report progress three times."""
    for done in (0, 50, 100):
        ctx.report_progress(done, 100, f"{done} of 100")
        time.sleep(0.05)
    return "Done."


@server.tool
def test_tool_with_logging(ctx: Context) -> str:
    """Log three messages."""
    for text in ("The tool starts.", "The tool goes on.", "The tool is done."):
        ctx.info(text)
        time.sleep(0.05)
    return "Logged three messages."


@server.tool
def test_logging_tool(ctx: Context) -> str:
    """Log a message, which only a client that asked for it sees."""
    ctx.info("A message for clients that asked for logs.")
    return "Logged one message."


@server.tool(name="test_x_mcp_header")
def mirrored(region: Annotated[str, {"x-mcp-header": "Region"}] = "") -> str:
    """Take an argument that is mirrored into the header Mcp-Param-Region."""
    return f"The region is {region!r}."


@server.tool
def test_trigger_tool_change() -> str:
    """Add a tool and remove it again."""
    name = f"test_passing_tool_{secrets.token_hex(8)}"
    server.add_tool({"name": name, "description": "Exists for a moment.", "handler": lambda arguments, ctx: None})
    server.remove_tool(name)
    return "The list of tools has changed."


@server.tool
def test_trigger_prompt_change() -> str:
    """Add a prompt and remove it again."""
    name = f"test_passing_prompt_{secrets.token_hex(8)}"

    @server.prompt(name=name, description="Exists for a moment.")
    def passing() -> str:
        return "nothing"

    server.remove_prompt(name)
    return "The list of prompts has changed."


def _accept_contact(arguments: dict[str, Any], ctx: Context) -> str:
    return f"A contact with {', '.join(sorted(arguments)) or 'nothing'}."


server.add_tool(
    {
        "name": "json_schema_2020_12_tool",
        "description": "Take arguments that need the vocabulary of JSON Schema 2020-12.",
        "handler": _accept_contact,
        "parameters": {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "$defs": {
                "address": {
                    "$anchor": "addressDef",
                    "type": "object",
                    "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
                }
            },
            "properties": {
                "name": {"type": "string"},
                "address": {"$ref": "#/$defs/address"},
                "contactMethod": {"type": "string", "enum": ["phone", "email"]},
                "phone": {"type": "string"},
                "email": {"type": "string"},
            },
            "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
            "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
            "then": {"required": ["phone"]},
            "else": {"required": ["email"]},
            "additionalProperties": False,
        },
    }
)

for question in TOOLS:
    server.tool(question)


@server.resource("test://static-text", mime_type="text/plain")
def static_text() -> str:
    """Return a text that never changes."""
    return "This is the content of the static text resource."


@server.resource("test://static-binary", mime_type="image/png")
def static_binary() -> bytes:
    """Return an image that never changes."""
    return PNG


@server.resource("test://watched-resource", mime_type="text/plain")
def watched_resource() -> str:
    """Return a text that clients may watch."""
    return "This is the content of the watched resource."


@server.resource("test://template/{id}/data", mime_type="application/json")
def template_data(id: str) -> dict[str, object]:  # noqa: A002 - the URI calls it so
    """Return the data with that id."""
    return {"id": id, "templateTest": True, "data": f"Data for ID: {id}"}


@server.prompt
def test_simple_prompt() -> str:
    """Give one message."""
    return "This is a simple prompt for testing."


@server.prompt
def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    """Give a message with two arguments in it."""
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@server.completion("test_prompt_with_arguments", "arg1")
def complete_arg1(value: str) -> Completion:
    """Complete the first argument."""
    return Completion([text for text in ("testValue1", "testing", "other") if text.startswith(value)])


# The suite names the argument in camel case.
@server.prompt
def test_prompt_with_embedded_resource(resourceUri: str) -> list[EmbeddedResource | str]:
    """Give a message with a resource in it."""
    contents = ResourceContents("Embedded resource content for testing.", uri=resourceUri, mime_type="text/plain")
    return [EmbeddedResource(contents), "Please process the embedded resource above."]


@server.prompt
def test_prompt_with_image() -> list[Image | str]:
    """Give a message with an image in it."""
    return [Image(PNG), "Please analyze the image above."]


for prompt in PROMPTS:
    server.prompt(prompt)
