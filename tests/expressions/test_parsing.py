"""What may be written, what is refused, and that nothing but a ParameterError comes out."""

from __future__ import annotations

import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tametail.errors import ParameterError
from tametail.expressions import Expression
from tametail.expressions.tree import Arithmetic, Name, Negate, Number

from .examples import conditions, values

parse = Expression.parse


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("age>=65 and region!='north'", "age >= 65 and region != 'north'"),
        ("charge / nights", "charge / nights"),
        ("a + b * -c", "a + (b * (-c))"),
        ("a - b - c", "(a - b) - c"),
        ("-2 * x", "(-2) * x"),
        ("1 <= a < b != 3", "1 <= a and a < b and b != 3"),
        ("not a == 1 or b == 2", "not (a == 1) or b == 2"),
        ("a + 1 is missing", "(a + 1) is missing"),
        ("(a < 1) is not missing", "(a < 1) is not missing"),
        ("not a is missing", "a is not missing"),
        ("s in ('a', \"it's\")", "s == 'a' or s == 'it''s'"),
        ("s not in ('a')", "not (s == 'a')"),
        ("x in (1, -2,)", "x == 1 or x == -2"),
        ("`my ``odd`` name` > .5e1", "`my ``odd`` name` > 5"),
        ("`and` > 1\n\tand class < 007", "`and` > 1 and class < 7"),
        ("1e22 < x", "1e+22 < x"),
        ('s == "say ""a"""', "s == 'say \"a\"'"),
        ("s == 'a\\'", "s == 'a\\'"),
        ("log( charge )/2", "log(charge) / 2"),
        ("min(a, -b, 1) > max", "min(a, -b, 1) > max"),
        ("max(abs, `log`)", "max(abs, log)"),
    ],
)
def test_what_may_be_written(text, canonical):
    assert str(parse(text)) == canonical
    assert parse(canonical) == parse(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not an expression"),
        ("  ", "not an expression"),
        (None, "not an expression"),
        ("a +", "syntax error"),
        ("a b", "syntax error"),
        ("(a > 1", "syntax error"),
        ("a > 1)", "syntax error"),
        ("a ** 2", "syntax error"),
        ("a // 2", "syntax error"),
        ("a % 2", "syntax error at '% 2'"),
        ("a = 1", "syntax error at '= 1'"),
        ("a.b > 1", "syntax error at"),
        ("a > 1x", "syntax error at"),
        ("a > 0x10", "syntax error at"),
        ("a > 1_000", "syntax error at"),
        ("a > 1 # comment", "syntax error at"),
        ("s == 'open", "syntax error at"),
        ("`` > 1", "syntax error at"),
        ("a[0] > 1", "syntax error at"),
        ("f(a)", "unsupported syntax"),
        ("+a", "unsupported syntax"),
        ("a, b", "unsupported syntax"),
        ("__import__('os')", "unsupported syntax"),
        ("log()", "calls log with 0 arguments, not one"),
        ("log(a, 2)", "calls log with 2 arguments"),
        ("min(a)", "1 arguments, not 2 to 16"),
        ("max(*a)", "calls max with 1 arguments"),
        ("max(a, *b)", "unsupported syntax"),
        ("max(a, **b)", "syntax error"),
        ("abs(a > 1)", "uses a condition as a value"),
        ("coalesce(a, 'b')", "in arithmetic"),
        ("abs(log(a)", "syntax error"),
        ("a (b)", "unsupported syntax"),
        ("abs(abs(abs(abs(abs(abs(a))))))", "nests too many"),
        ("lambda: 1", "syntax error at"),
        ("a if b > 1 else c", "syntax error"),
        ("a AND b", "syntax error"),
        ("1 + 2", "names no column"),
        ("1 < 2", "compares two constants"),
        ("1 < 2 < a", "compares two constants"),
        ("1 is missing", "constant is missing"),
        ("a and b > 1", "uses a value as a condition"),
        ("not a", "uses a value as a condition"),
        ("(a > 1) + 1", "uses a condition as a value"),
        ("(a > 1) == (b > 1)", "uses a condition as a value"),
        ("'text' + a", "in arithmetic"),
        ("-'text' < a", "in arithmetic"),
        ("a is b", 'uses "is"'),
        ("a is 1", 'uses "is"'),
        ("a == missing", 'without "is"'),
        ("missing", 'without "is"'),
        ("a < b is missing", 'uses "is"'),
        ("a is missing is missing", 'uses "is"'),
        ("1 < a in (1, 2)", "chains"),
        ("a in (1, 2) < 3", "chains"),
        ("a in b", "without a list"),
        ("s in 'abc'", "without a list"),
        ("a in ()", "empty list"),
        ("a in (b, 1)", "a column in a list"),
        ("a in (1, 2) + 3", "unsupported syntax"),
        ("a < 1e400", "which is too large"),
        ("s == '\0'", "NUL"),
        ("s == '\ud800'", "not valid Unicode"),
        ("a" * 20_001, "more than 20000 characters"),
        ("(" * 9_000 + "a" + ")" * 9_000, ""),
        ("-" * 19_000 + "a", "nested too deeply"),
        ("not " * 4_900 + "a > 1", "nested too deeply"),
        ("a" + "+a" * 9_000, "nested too deeply"),
        ("a" + "+a" * 64, "64 levels"),
        ("a/(a/(a/(a/(a/(a/a)))))", "nests too many divisions or functions"),
        (f"{'-' * 20}a in ({'1,' * 500})", "4000 parts"),
        ("a > 1" + " or a > 1" * 1_500, "4000 parts"),
        ("a" + "<a" * 9_000, "4000 parts"),
    ],
)
def test_what_is_refused(text, why):
    with pytest.raises(ParameterError, match="Allowed are column names") as caught:
        parse(text, "where")
    assert why in str(caught.value)
    assert str(caught.value).startswith("where=")
    assert len(str(caught.value)) < 400
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@given(st.text(st.sampled_from("ab1.'`\"()<>=!+-*/, \n\\#") | st.characters(), max_size=30))
def test_any_text_parses_or_is_refused(text):
    try:
        expression = parse(text)
    except ParameterError:
        return
    assert parse(str(expression)) == expression


WORDS = ["a", "`b c`", "1", "'t'", "(", ")", "and", "or", "not", "is", "missing", "in", "-", "+",
         "*", "/", "<", "==", ",", "<=", "log", "max", "min ("]  # fmt: skip


@given(st.lists(st.sampled_from(WORDS), max_size=12))
def test_any_words_parse_or_are_refused(words):
    test_any_text_parses_or_is_refused.hypothesis.inner_test(" ".join(words))


@given(values | conditions)
def test_the_text_of_a_tree_parses_to_it(expression):
    again = parse(json.loads(json.dumps(str(expression))))
    # A chain or a list is written out, so that every tree has one text.
    assert again == expression
    assert hash(again) == hash(expression)
    assert pickle.loads(pickle.dumps(expression)) == expression


def test_names_are_taken_as_they_are():
    assert parse("ﬁ > K").columns == ("ﬁ", "K")  # Python would normalize both
    assert parse("`None` > True").columns == ("None", "True")


def test_columns_are_in_order_and_once():
    expression = parse("b > a and `a` < 3 and s != 'x' and 'y' < t and u == t")
    assert expression.columns == ("b", "a", "s", "t", "u")
    assert expression.text_columns == ("s", "t")


def test_a_name_is_seen():
    assert parse("`my charge`").is_name
    assert not parse("-charge").is_name
    assert parse("-charge").tree == Negate(Name("charge"))
    assert parse("a - 2").tree == Arithmetic("-", Name("a"), Number(2.0))


def test_a_value_is_no_condition():
    assert Expression.parse_condition("a > 1").is_condition
    with pytest.raises(ParameterError, match="where='a \\+ 1' is a value"):
        Expression.parse_condition("a+1")
    with pytest.raises(ParameterError, match="not a condition"):
        _ = parse("a").condition
