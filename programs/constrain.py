"""Grammars for constrained decoding, in the EBNF that vLLM takes (xgrammar's).

    reno evaluate --system RECIPE --constrain copy --data DATA --out DIR

`copy` is a reference's own text, to the character, with tags between its words, nested as
`reno_dspy.jats.spans.render` nests them: such an answer is valid XML and changes nothing. `wellformed`
is the same elements around any text. Neither can stop an answer from being cut by its token limit.

The `copy` grammar is regular: one rule for each word and each element that it may stand in, so it
grows with the reference's length and no faster. What makes it quick to compile is that tags and words
are rules of their own: xgrammar works out the allowed tokens once for every character of every rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from xml.sax.saxutils import escape

from reno_dspy.jats.citation import MalformedXml, parse
from reno_dspy.jats.elements import (
    LEAVES,
    NAME_PARTS,
    PEOPLE,
    PERSON_ROLES,
    PUB_ID_TYPES,
    PUBLICATION_TYPES,
    WHOLE_PEOPLE,
)
from reno_dspy.jats.spans import render
from reno_dspy.systems import Constrain
from reno_dspy.systems.tokens import tokenize

# People as wholes; names have parts.
_MEMBERS = tuple(sorted(PEOPLE - NAME_PARTS - WHOLE_PEOPLE))
_FIELDS = tuple(sorted(LEAVES - PEOPLE - WHOLE_PEOPLE))


@dataclass(frozen=True)
class _Container:
    """An element with elements inside: `leaves` hold text alone, `inner` is a container again."""

    rule: str
    name: str
    leaves: Sequence[str]
    inner: _Container | None = None


_NAME = _Container("n", "string-name", tuple(sorted(NAME_PARTS)))
_GROUP = _Container("g", "person-group", _MEMBERS, _NAME)
_CITATION = _Container("c", "mixed-citation", _FIELDS, _GROUP)

_ATTRIBUTES = {
    "mixed-citation": ("publication-type", tuple(one.name for one in PUBLICATION_TYPES)),
    "person-group": ("person-group-type", PERSON_ROLES),
    "pub-id": ("pub-id-type", PUB_ID_TYPES),
}

_TEXT = r"[^<>&\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]"
_ESCAPES = {'"': r"\"", "\\": r"\\", "\n": r"\n", "\r": r"\r", "\t": r"\t"}


def grammar(constrain: Constrain, reference: str) -> str | None:
    """The grammar that an answer about `reference` is held to; None for `none`.

    Raises ValueError for characters that XML cannot hold.
    """
    if constrain == "none":
        return None
    return copy_grammar(reference) if constrain == "copy" else wellformed_grammar()


def violation(constrain: Constrain, reference: str, answer: str) -> str | None:
    """What in a finished `answer` its grammar rules out; None when all is well."""
    if constrain == "none":
        return None
    try:
        text = "".join(parse(answer).itertext())
    except MalformedXml as error:
        return f"it is not well-formed XML ({error})"
    return "its text is not the reference's" if constrain == "copy" and text != reference else None


@cache
def wellformed_grammar() -> str:
    """Well-formed annotations of any text, no element of them empty.

    Rules: `t` text, `x` the same or nothing; of a citation, a person-group and a string-name `c`, `g`,
    `n` the content, `C`, `G`, `N` the same or nothing.
    """
    rules = [f"root ::= {_open('mixed-citation')} c {_close('mixed-citation')}"]
    container: _Container | None = _CITATION
    while container:
        inside = [f"{_open(leaf)} t {_close(leaf)}" for leaf in container.leaves]
        if container.inner:
            name = container.inner.name
            inside.append(f"{_open(name)} {container.inner.rule} {_close(name)}")
        some, any_ = container.rule, container.rule.upper()
        rules.append(f"{some}1 ::= {' | '.join(inside)}")
        rules.append(f"{some} ::= t | x {some}1 {any_}")
        rules.append(f'{any_} ::= x ("" | {some}1 {any_})')
        container = container.inner
    # One class for all text: a token inside it needs no look at what surrounds it.
    rules += [
        f"t ::= ({_TEXT} | e) x",
        f'x ::= {_TEXT}* ("" | e x)',
        'e ::= "&amp;" | "&lt;" | "&gt;" | "&#13;"',
        *_tag_rules(),
    ]
    return "\n".join(rules)


def copy_grammar(reference: str) -> str:
    """All ways to tag `reference`. Raises ValueError for characters that XML cannot hold.

    Rules of word i: `w` the word, `s` the white space before it, `cI`, `gI`, `nI` what may follow inside
    a citation, a person-group and a string-name, `CI`, `GI`, `NI` the same where the element cannot end
    (so none is empty), `tK_I` what may follow inside the element of number K, which holds text.
    """
    render(reference, ())  # checks the characters
    words: list[tuple[str, str]] = []
    last = 0
    # A tag can stand where a tagger may cut.
    for token in tokenize(reference):
        words.append((reference[last : token.start], _escape(reference[token.start : token.end])))
        last = token.end
    tail = _escape(reference[last:])
    rules = [f"root ::= {_open('mixed-citation')} c0", *_tag_rules(), *_word_rules(words, tail)]
    for i in range(len(words)):
        rules += _state_rules(_CITATION, None, i, words)
    end = len(words)
    rules += [
        f"c{end} ::= {_literal(tail)} {_close('mixed-citation')}",
        f"g{end} ::= {_close('person-group')} c{end}",
        f"n{end} ::= {_close('string-name')} g{end}",
    ]
    return "\n".join(rules)


def _word_rules(words: Sequence[tuple[str, str]], tail: str) -> Iterator[str]:
    firsts = sorted({word[0] for _, word in words})
    # xgrammar copies a rule that refers to no other into each place that begins with it; a rule
    # for the first character prevents that.
    yield from (f"k{ord(character)} ::= {_literal(character)}" for character in firsts)
    for i, (space, word) in enumerate(words):
        # What follows a word is known, which rules out at once most tokens that go beyond it.
        following = "".join(words[i + 1])[0] if i + 1 < len(words) else tail[:1]
        ahead = f"(=[<{_class_member(following)}])"
        yield f"w{i} ::= k{ord(word[0])} {_literal(word[1:])} {ahead}"
        if space:
            yield f"s{i} ::= {_literal(_escape(space))}"


def _state_rules(
    container: _Container, outer: _Container | None, i: int, words: Sequence[tuple[str, str]]
) -> Iterator[str]:
    """What may follow inside `container` and all that it holds, before word `i`."""
    here, must = f"{container.rule}{i}", f"{container.rule.upper()}{i}"
    space = f"s{i} " if words[i][0] else ""
    end = f"{_close(container.name)} {outer.rule}{i} | " if outer else ""
    yield f"{here} ::= {end}{space}{must}"
    inside = [f"{_open(leaf)} {_leaf(leaf)}_{i}" for leaf in container.leaves]
    if container.inner:
        inside.append(f"{_open(container.inner.name)} {container.inner.rule.upper()}{i}")
    yield f"{must} ::= w{i} {container.rule}{i + 1} | {' | '.join(inside)}"
    for leaf in container.leaves:
        more = ""
        if i + 1 < len(words):
            gap = f"s{i + 1} " if words[i + 1][0] else ""
            more = f" | w{i} {gap}{_leaf(leaf)}_{i + 1}"
        yield f"{_leaf(leaf)}_{i} ::= w{i} {_close(leaf)} {container.rule}{i + 1}{more}"
    if container.inner:
        yield from _state_rules(container.inner, container, i, words)


_TAGS = (
    *_FIELDS, *_MEMBERS, *_NAME.leaves, "string-name", "person-group", "mixed-citation",
)  # fmt: skip
_NUMBER = {name: number for number, name in enumerate(_TAGS)}


def _open(name: str) -> str:
    return f"a{_NUMBER[name]}"


def _close(name: str) -> str:
    return f"z{_NUMBER[name]}"


def _leaf(name: str) -> str:
    return f"t{_NUMBER[name]}"


@cache
def _tag_rules() -> tuple[str, ...]:
    rules = ['lt ::= "<"']
    for name in _TAGS:
        attribute = ""
        if name in _ATTRIBUTES:
            key, values = _ATTRIBUTES[name]
            choice = " | ".join(map(_literal, values))
            attribute = f' ("" | " {key}=\\"" ({choice}) "\\"")'
        rules.append(f'{_open(name)} ::= lt "{name}"{attribute} ">"')
        rules.append(f'{_close(name)} ::= lt "/{name}>"')
    return tuple(rules)


def _escape(text: str) -> str:
    # As `spans.render` does it: a parser would turn a bare carriage return into a line feed.
    return escape(text).replace("\r", "&#13;")


def _literal(text: str) -> str:
    return '"' + "".join(_ESCAPES.get(character, character) for character in text) + '"'


def _class_member(character: str) -> str:
    return f"\\u{ord(character):04x}" if character and ord(character) < 128 else character
