"""The conformance fixture's tools and prompts that ask the client for something.

What a key or an answer is called is the suite's convention: it looks some of them up by name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mcp_wsgi import Context, InputRequired, elicit_request, roots_request, sample_request

__all__ = ["PROMPTS", "TOOLS"]


def _form(**properties: str) -> dict[str, Any]:
    """Make the schema of a form whose fields are all required."""
    fields = {name: {"type": kind} for name, kind in properties.items()}
    return {"type": "object", "properties": fields, "required": list(fields)}


def test_input_required_result_elicitation(ctx: Context) -> str:
    """Ask for a name."""
    answer = ctx.elicit("What is your name?", _form(name="string"), key="user_name")
    return f"Hello, {answer.data['name']}!" if answer.data else "You gave no name."


def test_input_required_result_sampling(ctx: Context) -> str:
    """Ask the client's model."""
    return ctx.sample("What is the capital of France?", max_tokens=100, key="capital_question").text or "No text."


def test_input_required_result_list_roots(ctx: Context) -> str:
    """Ask for the roots."""
    roots = ctx.list_roots(key="client_roots")
    return f"Roots: {', '.join(root.uri for root in roots) or 'none'}"


def test_input_required_result_request_state(ctx: Context) -> str:
    """Ask for a confirmation and keep a state meanwhile."""
    if ctx.request_state != "confirming" or "confirm" not in ctx.input_responses:
        question = elicit_request("Please confirm.", _form(ok="boolean"))
        raise InputRequired({"confirm": question}, state="confirming")
    return "state-ok"


def test_input_required_result_multiple_inputs(ctx: Context) -> str:
    """Ask three things at once."""
    questions = {
        "user_name": elicit_request("What is your name?", _form(name="string")),
        "greeting": sample_request("Write a greeting.", max_tokens=50),
        "client_roots": roots_request(),
    }
    missing = {key: question for key, question in questions.items() if key not in ctx.input_responses}
    if missing:
        raise InputRequired(missing, state="asking")
    return f"Answered: {', '.join(sorted(ctx.input_responses))}"


def test_input_required_result_multi_round(ctx: Context) -> str:
    """Ask two things, one after the other."""
    name = ctx.elicit("Step 1: what is your name?", _form(name="string"), key="step1")
    color = ctx.elicit("Step 2: what is your favorite color?", _form(color="string"), key="step2")
    return f"{(name.data or {}).get('name')} likes {(color.data or {}).get('color')}."


def test_input_required_result_tampered_state(ctx: Context) -> str:
    """Ask for a confirmation; a state that was altered on the way is refused."""
    answer = ctx.elicit("Please confirm.", _form(ok="boolean"), key="confirm")
    return f"Your answer: {answer.action}."


def test_input_required_result_capabilities(ctx: Context) -> str:
    """Ask whatever the client can answer."""
    questions = {}
    if "elicitation" in ctx.client_capabilities:
        questions["user_name"] = elicit_request("What is your name?", _form(name="string"))
    if "sampling" in ctx.client_capabilities:
        questions["greeting"] = sample_request("Write a greeting.", max_tokens=50)
    missing = {key: question for key, question in questions.items() if key not in ctx.input_responses}
    if missing:
        raise InputRequired(missing)
    return f"Answered: {', '.join(sorted(questions)) or 'nothing'}"


def test_missing_capability(ctx: Context) -> str:
    """Ask the client's model, which only a client with sampling has."""
    return ctx.sample("Say hello.", max_tokens=20).text or "No text."


def test_streaming_elicitation(ctx: Context) -> str:
    """Ask for a name; on a modern connection the question is a result and no request."""
    answer = ctx.elicit("What is your name?", _form(name="string"))
    return f"Your answer: {answer.action}."


def test_sampling(prompt: str, ctx: Context) -> str:
    """Ask the client's model."""
    return f"LLM response: {ctx.sample(prompt, max_tokens=100).text}"


def test_elicitation(message: str, ctx: Context) -> str:
    """Ask for a user name and an address."""
    answer = ctx.elicit(message, _form(username="string", email="string"))
    return f"User response: {answer.action}"


def test_elicitation_sep1034_defaults(ctx: Context) -> str:
    """Show a form with a default for every kind of field (SEP-1034)."""
    schema = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "default": "John Doe"},
            "age": {"type": "integer", "default": 30},
            "score": {"type": "number", "default": 95.5},
            "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
            "verified": {"type": "boolean", "default": True},
        },
    }
    return f"Elicitation completed: {ctx.elicit('Please review the defaults.', schema).action}"


def test_elicitation_sep1330_enums(ctx: Context) -> str:
    """Show a form with every kind of choice (SEP-1330)."""
    titled = [{"const": f"value{number}", "title": f"Option {number}"} for number in (1, 2, 3)]
    plain = {"type": "string", "enum": ["option1", "option2", "option3"]}
    legacy = {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["One", "Two", "Three"]}
    schema = {
        "type": "object",
        "properties": {
            "untitledSingle": plain,
            "titledSingle": {"type": "string", "oneOf": titled},
            "legacyEnum": legacy,
            "untitledMulti": {"type": "array", "items": plain},
            "titledMulti": {"type": "array", "items": {"anyOf": titled}},
        },
    }
    return f"Elicitation completed: {ctx.elicit('Please choose.', schema).action}"


def test_input_required_result_prompt(ctx: Context) -> str:
    """Ask what the prompt is about."""
    answer = ctx.elicit("What is the context?", _form(context="string"), key="user_context")
    return f"Use this context: {(answer.data or {}).get('context', 'none')}"


TOOLS: list[Callable[..., Any]] = [
    test_input_required_result_elicitation,
    test_input_required_result_sampling,
    test_input_required_result_list_roots,
    test_input_required_result_request_state,
    test_input_required_result_multiple_inputs,
    test_input_required_result_multi_round,
    test_input_required_result_tampered_state,
    test_input_required_result_capabilities,
    test_missing_capability,
    test_streaming_elicitation,
    test_sampling,
    test_elicitation,
    test_elicitation_sep1034_defaults,
    test_elicitation_sep1330_enums,
]
PROMPTS: list[Callable[..., Any]] = [test_input_required_result_prompt]
