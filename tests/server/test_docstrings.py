from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wsgi.server.docstrings import DocString, parse_docstring


@pytest.mark.parametrize("text", [None, "", "  \n "])
def test_no_docstring_says_nothing(text):
    assert parse_docstring(text) == DocString(summary="", parameters={})


def test_a_docstring_without_sections_is_all_description():
    text = """Count orders.

        By status: see below.

        Returns:
            The count.
        """
    assert parse_docstring(text) == DocString(
        summary="Count orders.\n\nBy status: see below.\n\nReturns:\n    The count."
    )


STYLES = {
    "google": """Add up.

    Slowly.

    Args:
        a (int): The first
            of them: a number.
        b: The second.

    Returns:
        int: The sum.

    Keyword Arguments:
        c: The third.

    Note:
        d: Not a parameter.
    """,
    "numpy": """Add up.

    Slowly.

    Parameters
    ----------
    a : int
        The first
        of them: a number.
    b, c
        The second.

    Returns
    -------
    int
        The sum.
    """,
    "sphinx": """Add up.

    Slowly.

    :param int a: The first
        of them: a number.
    :param b: The second.
    :type b: int
    :returns: The sum.
    """,
    "epydoc": """Add up.

    Slowly.

    @param a: The first of them: a number.
    @param b: The second.
    @return: The sum.
    """,
}


@pytest.mark.parametrize("style", STYLES)
def test_every_style_gives_its_parameter_texts(style):
    found = parse_docstring(STYLES[style])
    assert found.summary == "Add up.\n\nSlowly."
    assert found.parameters["a"] == "The first of them: a number."
    assert found.parameters["b"] == "The second."
    assert "d" not in found.parameters


def test_every_google_block_and_every_numpy_name_counts():
    assert parse_docstring(STYLES["google"]).parameters["c"] == "The third."
    assert parse_docstring(STYLES["numpy"]).parameters["c"] == "The second."


def test_a_section_without_text_gives_nothing():
    assert parse_docstring("X.\n\n:param a:\n:param b: Text.").parameters == {"b": "Text."}


def test_a_section_that_cannot_be_read_gives_no_parameters():
    found = parse_docstring("X.\n\nArgs:\n    no colon here\n")
    assert found == DocString(summary="X.", parameters={})


@given(
    st.lists(
        st.sampled_from(["Args:", "    x: y", "Parameters", "---------", ":param", ":param x:", "@param q: z", "", "a"])
        | st.text(max_size=20),
        max_size=12,
    ).map("\n".join)
)
def test_no_text_is_too_odd(text):
    found = parse_docstring(text)
    assert isinstance(found.summary, str)
    assert all(isinstance(each, str) for pair in found.parameters.items() for each in pair)
