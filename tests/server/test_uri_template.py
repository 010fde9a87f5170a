from __future__ import annotations

import re
import subprocess
import sys

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mcp_wsgi.exceptions import RegistrationError
from mcp_wsgi.server.uri_template import MAX_URI_LENGTH, UriTemplate
from tests.cost import cpu_seconds


def match(template, uri):
    return UriTemplate(template).match(uri)


def test_variables_are_named_in_order():
    template = UriTemplate("x://{a}/{+b}{;c}{?d,e*}{&f:3}{#g}")
    assert template.variables == ("a", "b", "c", "d", "e", "f", "g")
    assert template.optional == ("d", "e", "f")
    assert repr(template) == "UriTemplate('x://{a}/{+b}{;c}{?d,e*}{&f:3}{#g}')"


@pytest.mark.parametrize(
    ("template", "uri", "values"),
    [
        ("", "", {}),
        ("", "x", None),
        ("file:///a", "file:///a", {}),
        ("file:///a", "file:///a/", None),
        ("http://h", "http://h/", None),
        ("x:{a}", "x:y", {"a": "y"}),
        ("users://{id}", "users://7", {"id": "7"}),
        ("users://{id}", "USERS://7", None),
        ("users://{id}", "users://", None),
        ("users://{id}", "users://7/8", None),
        ("users://{id}", "users://7?x=1", None),
        ("users://{id}", "users://a,b", None),
        ("users://{id}", "users://a b", None),
        ("users://{id}/posts/{post}", "users://7/posts/a-b", {"id": "7", "post": "a-b"}),
        ("{a}", "é%20日", {"a": "é 日"}),
        ("{a}", "a%2Fb", {"a": "a/b"}),
        ("{a}", "%252F", {"a": "%2F"}),
        ("{x,y}", "1,2", {"x": "1", "y": "2"}),
        ("{x*}", "1,2,%2C", {"x": ["1", "2", ","]}),
        ("{x*}", "1", {"x": ["1"]}),
        ("{x*}", "1,,2", None),
        ("{x*}", "1,", None),
        ("{x,y*}", "1,2,3", {"x": "1", "y": ["2", "3"]}),
        ("file:///{+path}", "file:///a/b%20c?d#e", {"path": "a/b c?d#e"}),
        ("{+x,y}", "/a,/b", {"x": "/a", "y": "/b"}),
        ("{+x*}", "/a,/b", {"x": ["/a", "/b"]}),
        ("x{#f}", "x#a/b?c", {"f": "a/b?c"}),
        ("x{#f}", "x", None),
        ("x{#f*}", "x#a,b", {"f": ["a", "b"]}),
        ("x{.a}", "x.tar.gz", {"a": "tar.gz"}),
        ("x{.a,b}", "x.tar.gz", {"a": "tar", "b": "gz"}),
        ("x{.a*}", "x.tar.gz", {"a": ["tar", "gz"]}),
        ("x{.a*}", "x..gz", None),
        ("x{/a,b}", "x/1/2", {"a": "1", "b": "2"}),
        ("x{/a*}", "x/1/2%2F3", {"a": ["1", "2/3"]}),
        ("x{/a*}/end", "x/1/2/end", {"a": ["1", "2"]}),
        ("x{/a*}", "x/1//2", None),
        ("x{/a*}", "x", None),
        ("x{;a,b}", "x;a=1;b", {"a": "1", "b": ""}),
        ("x{;a,b}", "x;b;a=1", {"a": "1", "b": ""}),
        ("x{;a,b}", "x;a=1", None),
        ("x{;a*}", "x;a=1;a=2;a", {"a": ["1", "2", ""]}),
        ("x{;a}/{b}", "x;a=1/2", {"a": "1", "b": "2"}),
        ("x{?a,b}", "x?a=1&b=2", {"a": "1", "b": "2"}),
        ("x{?a,b}", "x?b=2&a=1", {"a": "1", "b": "2"}),
        ("x{?a,b}", "x?b=", {"b": ""}),
        ("x{?a,b}", "x", {}),
        ("x{?a,b}", "x?", None),
        ("x{?a,b}", "x?a", None),
        ("x{?a,b}", "x?a=1&", None),
        ("x{?a,b}", "x?a=1&c=2", None),
        ("x{?a,b}", "x?a=1&a=2", None),
        ("x{?a,b}", "x?a=1,2", None),
        ("x{?a,b}", "x?a=1+2", None),
        ("x{?a,b}", "x&a=1", None),
        ("x{?a}", "x?%61=1", None),
        ("x{?a%20b}", "x?a%20b=1", {"a%20b": "1"}),
        ("x{?a*}", "x?a=1&a=2", {"a": ["1", "2"]}),
        ("x{?t}", "x?t=2024-01-01T10:00/é=", {"t": "2024-01-01T10:00/é="}),
        ("x{?a}", "x?a=%26b%3D1", {"a": "&b=1"}),
        ("x?f=1{&a}", "x?f=1&a=2", {"a": "2"}),
        ("x?f=1{&a}", "x?f=1", {}),
        ("x?f=1{&a}", "x?f=1?a=2", None),
        ("x{?a}{&b}", "x?b=1&a=2", {"a": "2", "b": "1"}),
        ("x{?a}{&b}", "x&b=1", {"b": "1"}),
        ("x{?a}#top", "x?a=1#top", {"a": "1"}),
        ("x{?a}{#f}", "x#f?a=1", {"f": "f?a=1"}),
        ("f:{+p}{?q}", "f:/a/b?q=1", {"p": "/a/b", "q": "1"}),
        ("f:{+p}{?q}{#z}", "f:/a#b#?q=1", {"p": "/a", "z": "b#?q=1"}),
        ("f:{+p}{;a,b}", "f:/a;a=1;b=2", {"p": "/a", "a": "1", "b": "2"}),
        ("f:{+p}/{name}", "f:a/b/c", {"p": "a/b", "name": "c"}),
        ("{a}-{b}", "1-2-3", {"a": "1-2", "b": "3"}),
        ("{a}.txt", "a.txt.txt", {"a": "a.txt"}),
        ("{a:2}-{b}", "a-b-c", {"a": "a", "b": "b-c"}),
        ("{a:2}-{b}", "éé-c", {"a": "éé", "b": "c"}),
        ("{a:2}", "%C3%A9%C3%A9", {"a": "éé"}),
        ("{a:2}", "abc", None),
        ("{a:2}!{b:2}", "a!b", {"a": "a", "b": "b"}),
        ("x{?a:2}", "x?a=ab", {"a": "ab"}),
        ("x{?a:2}", "x?a=abc", None),
        ("é/{a}", "%C3%A9/b", {"a": "b"}),
        ("%C3%A9/{a}", "é/b", {"a": "b"}),
        ("a%20b/{a}", "a%20b/c", {"a": "c"}),
        ("%41/{a}", "A/c", None),
    ],
)
def test_a_uri_is_matched_in_reverse(template, uri, values):
    assert match(template, uri) == values


@pytest.mark.parametrize(
    "uri", ["%", "%4", "%zz", "a%", "%FF", "%C3", "%C3/%A9", "%ED%A0%80", "%C0%AF", "\ud800", "x\ud800%41"]
)
def test_malformed_and_undecodable_escapes_match_nothing(uri):
    assert match("{+a}", uri) is None


def test_values_come_in_the_order_of_the_template():
    assert list(match("{a}/{b}{?c,d}", "1/2?d=3&c=4")) == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ("{a", "unbalanced"),
        ("a}", "unbalanced"),
        ("{a{b}}", "unbalanced"),
        ("}{", "unbalanced"),
        ("{}", "bad operator or variable"),
        ("{+}", "bad operator or variable"),
        ("{a,}", "bad operator"),
        ("{$a}", "bad operator"),
        ("{a b}", "bad operator"),
        ("{.}", "bad operator"),
        ("{a.}", "bad operator"),
        ("{a..b}", "bad operator"),
        ("{é}", "bad operator"),
        ("{a%zz}", "bad operator"),
        ("{%FF}", "bad operator"),
        ("{a-b}", "bad operator"),
        ("{=a}", "bad operator"),
        ("{!a}", "bad operator"),
        ("{|a}", "bad operator"),
        ("{@a}", "bad operator"),
        ("{a:0}", "bad modifier"),
        ("{a:10000}", "bad modifier"),
        ("{a:x}", "bad modifier"),
        ("{a:}", "bad modifier"),
        ("{a**}", "bad modifier"),
        ("{a*:2}", "bad modifier"),
        ("{a:٣}", "bad modifier"),
        ("{a}/{a}", "twice"),
        ("{a,a}", "twice"),
        ("{a}{?a}", "twice"),
        ("{%c3%a9}/{%C3%A9}", "twice"),
        ("{a}{b}", "leaves open"),
        ("{a}{+b}", "leaves open"),
        ("{;a}{b}", "leaves open"),
        ("{/a*,b*}", "leaves open"),
        ("{a*,b*}", "leaves open"),
        ("{/a*}{/b*}", "leaves open"),
        ("{;a}{;b}", "side by side"),
        ("{?a}{?b}", "its query twice"),
        ("{&a}{?b}", "its query twice"),
        ("{?a}x", "behind its query"),
        ("{?a}{b}", "behind its query"),
        ("{?a}{/b}", "behind its query"),
        ("{?a}{;b}", "behind its query"),
        ("a b", "percent-encoded"),
        ("a\n", "percent-encoded"),
        ("a\\b", "percent-encoded"),
        ("<a>", "percent-encoded"),
        ("100%", "UTF-8 escape"),
        ("%FF", "UTF-8 escape"),
        ("\ud800", "lone surrogate"),
        ("{\ud800}", "bad operator"),
        ("x" * (MAX_URI_LENGTH + 1), "longer"),
    ],
    ids=lambda value: ascii(value)[:20],
)
def test_a_bad_template_is_refused_at_registration(template, reason):
    with pytest.raises(RegistrationError, match=reason):
        UriTemplate(template)


# The examples of RFC 6570, section 3.2, for the values that it gives there.
RFC_VALUES = {
    "count": ["one", "two", "three"],
    "dom": ["example", "com"],
    "dub": "me/too",
    "hello": "Hello World!",
    "half": "50%",
    "var": "value",
    "who": "fred",
    "base": "http://example.com/home/",
    "path": "/foo/bar",
    "list": ["red", "green", "blue"],
    "keys": {"semi": ";", "dot": ".", "comma": ","},
    "v": "6",
    "x": "1024",
    "y": "768",
    "empty": "",
    "empty_keys": {},
    "undef": None,
}


@pytest.mark.parametrize(
    ("template", "uri"),
    [
        ("{count}", "one,two,three"),
        ("{/count*}", "/one/two/three"),
        ("{;count*}", ";count=one;count=two;count=three"),
        ("{?count}", "?count=one,two,three"),
        ("{?count*}", "?count=one&count=two&count=three"),
        ("{var}", "value"),
        ("{hello}", "Hello%20World%21"),
        ("{half}", "50%25"),
        ("O{empty}X", "OX"),
        ("O{undef}X", "OX"),
        ("{x,y}", "1024,768"),
        ("{x,hello,y}", "1024,Hello%20World%21,768"),
        ("?{x,empty}", "?1024,"),
        ("?{x,undef}", "?1024"),
        ("{var:3}", "val"),
        ("{var:30}", "value"),
        ("{list*}", "red,green,blue"),
        ("{keys}", "semi,%3B,dot,.,comma,%2C"),
        ("{keys*}", "semi=%3B,dot=.,comma=%2C"),
        ("{+hello}", "Hello%20World!"),
        ("{+half}", "50%25"),
        ("{base}index", "http%3A%2F%2Fexample.com%2Fhome%2Findex"),
        ("{+base}index", "http://example.com/home/index"),
        ("up{+path}{var}/here", None),
        ("{+path:6}/here", "/foo/b/here"),
        ("{+keys*}", "semi=;,dot=.,comma=,"),
        ("{#path,x}/here", "#/foo/bar,1024/here"),
        ("{#keys}", "#semi,;,dot,.,comma,,"),
        ("foo{#empty}", "foo#"),
        ("foo{#undef}", "foo"),
        ("X{.empty_keys}", "X"),
        ("X{.list*}", "X.red.green.blue"),
        ("{/list*,path:4}", "/red/green/blue/%2Ffoo"),
        ("{;x,y,empty}", ";x=1024;y=768;empty"),
        ("{;keys*}", ";semi=%3B;dot=.;comma=%2C"),
        ("{?x,y,empty}", "?x=1024&y=768&empty="),
        ("{?x,y,undef}", "?x=1024&y=768"),
        ("?fixed=yes{&x}", "?fixed=yes&x=1024"),
        ("{&keys}", "&keys=semi,%3B,dot,.,comma,%2C"),
    ],
)
def test_the_examples_of_the_rfc_expand(template, uri):
    if uri is None:
        with pytest.raises(RegistrationError):
            UriTemplate(template)
        return
    made = UriTemplate(template)
    assert made.expand(**{name: RFC_VALUES[name] for name in made.variables}) == uri


def test_expansion_of_what_the_rfc_leaves_to_care():
    assert UriTemplate("{a}").expand() == ""
    assert UriTemplate("{a}").expand(a=7) == "7"
    assert UriTemplate("{self}").expand(self=1.5) == "1.5"
    assert UriTemplate("{+a}").expand(a="é%41%4 ") == "%C3%A9%41%254%20"
    assert UriTemplate("{+a:1}").expand(a="éa") == "%C3%A9"
    assert UriTemplate("{#a}").expand(a=[]) == ""
    assert UriTemplate("{a*}").expand(a=("x", None, 2)) == "x,2"
    assert UriTemplate("{a*}").expand(a={"x": None}) == ""
    assert UriTemplate("é/%41{a}").expand(a="~") == "%C3%A9/%41~"


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"c": "1"}, "no variable 'c'"),
        ({"a": b"x"}, "type bytes"),
        ({"a": [["x"]]}, "type list"),
        ({"a": {"x": {}}}, "type dict"),
        ({"a": {(1,): "x"}}, "type tuple"),
        ({"a": "\ud800"}, "surrogate"),
        ({"b": ["x"]}, "prefix"),
        ({"b": {"x": "y"}}, "prefix"),
    ],
)
def test_what_cannot_stand_in_a_uri_is_refused(values, reason):
    with pytest.raises(ValueError, match=reason):
        UriTemplate("{a}/{b:3}").expand(**values)


text = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
empty_or_text = text | st.just("")
# RFC 6570, section 3.2.3: an escape in a reserved value stays one, so it cannot come back as it was.
reserved = text.filter(lambda value: not re.search("%[0-9A-Fa-f]{2}", value))
part = text.filter(lambda value: "." not in value)


@given(
    st.fixed_dictionaries(
        {
            "host": text,
            "list": st.lists(text, min_size=1, max_size=3),
            "segments": st.lists(text, min_size=1, max_size=3),
            "dots": st.lists(part, min_size=1, max_size=3),
            "p": empty_or_text,
            "ps": st.lists(empty_or_text, min_size=1, max_size=3),
            "anchor": reserved,
        },
        optional={
            "q": empty_or_text,
            "qs": st.lists(empty_or_text, min_size=1, max_size=3),
            "more": empty_or_text,
        },
    )
)
def test_what_is_expanded_is_matched_back(values):
    template = UriTemplate("x://{host}/{list*}{/segments*}/-{.dots*}{;p,ps*}{?q,qs*}{&more}{#anchor}")
    assert template.match(template.expand(**values)) == values


@given(reserved, empty_or_text)
def test_a_reserved_value_in_front_of_a_query_is_matched_back(path, rev):
    assume(not set("?") & set(path))
    template = UriTemplate("file:///{+path}{?rev}")
    assert template.match(template.expand(path=path, rev=rev)) == {"path": path, "rev": rev}


@given(text, st.integers(1, 15))
def test_a_prefix_is_matched_back(value, size):
    template = UriTemplate(f"{{a:{size}}}/{{?b:{size}}}")
    assert template.match(template.expand(a=value, b=value)) == {"a": value[:size], "b": value[:size]}


REGEX_OF = {
    "{a}": "[ab.]+",
    "{b:2}": "[ab.]{1,2}",
    "{+c}": "[ab./,]+",
    "{d*}": "[ab.]+(?:,[ab.]+)*",
    "{+e*}": "[ab./]+(?:,[ab./]+)*",
    "{/f*}": "(?:/[ab.]+)+",
    "{.g*}": r"(?:\.[ab]+)+",
    "{h:1}": "[ab.]",
    "{/i}": "/[ab.]+",
    "{+j:3}": "[ab./,]{1,3}",
}


@given(
    st.lists(st.sampled_from(list(REGEX_OF)), unique=True, min_size=1, max_size=4),
    st.lists(st.sampled_from(["", "a", ".", "/", "ab", ",", "a/"]), min_size=5, max_size=5),
    st.text("ab./,", max_size=12),
)
def test_matching_misses_nothing_that_a_backtracking_search_finds(expressions, literals, uri):
    pieces = [piece for pair in zip(literals, [*expressions, ""], strict=False) for piece in pair]
    try:
        template = UriTemplate("".join(pieces))
    except RegistrationError:
        assume(False)
    pattern = "".join(REGEX_OF.get(piece, re.escape(piece)) for piece in pieces)
    values = template.match(uri)
    assert (values is not None) == bool(re.fullmatch(pattern, uri))
    if values is not None:
        assert template.expand(**values) == uri


@given(st.text() | st.text("ab%2F/?&=;#.,é"))
def test_matching_any_text_raises_nothing(uri):
    for template in "{a}", "{+a}{?b*}{#c}", "{a*};b{;c*}", "{/a*}{.b:2}":
        match(template, uri)


@pytest.mark.parametrize(
    "template",
    [
        "x{a}-{b}-{c}-{d}-{e}",
        "x{a*}-,{b*}-,{c}",
        "x{+a}/{+b}/{+c}!!",
        "x{/a*}{.b*}-{c}",
        "x{a:4000}-{b:4000}-{c}",
        "x{;a*}.{b}",
        "x{?a*}",
        "x{+a}{?b}{&c*}",
    ],
)
@pytest.mark.parametrize("unit", ["-", "-,", "/", "/-", ";a=.", "?a=&", "%2D", "%C3%A9", "é", "a", "."])
def test_hostile_uris_take_little_time(template, unit):
    uri = ("x" + unit * MAX_URI_LENGTH)[: MAX_URI_LENGTH - 12] + "\\"
    made = UriTemplate(template)
    assert made.match(uri) is None
    assert cpu_seconds(lambda: (made.match(uri), made.match(uri[:-1])), 0.5) < 0.5


def test_an_over_long_uri_matches_nothing():
    assert match("{a}", "a" * MAX_URI_LENGTH) == {"a": "a" * MAX_URI_LENGTH}
    assert match("{a}", "a" * (MAX_URI_LENGTH + 1)) is None


def test_the_library_is_imported_for_expansion_only():
    code = (
        "import sys; from mcp_wsgi.server.uri_template import UriTemplate as T; T('{a}').match('b');"
        "assert 'uritemplate' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
