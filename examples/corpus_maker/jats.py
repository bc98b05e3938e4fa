"""Writes an article as JATS in the manner of its platform.

scielo, redalyc: `mixed-citation` in plain text beside a pretty-printed `element-citation` without any
text between its tags (one redalyc article has the latter only). ore: tagged `mixed-citation` whose
links carry the attribute prefix `ns0`, declared on the element. pkp: tagged `mixed-citation` with
`string-name`, punctuation between the tags.
"""

from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from .article import END, SUPER, Article, Reference
from .work import Token, printed

XLINK = "http://www.w3.org/1999/xlink"
DOCTYPE = (
    '<!DOCTYPE article PUBLIC "-//NLM//DTD JATS (Z39.96) Journal Publishing DTD v1.1 20151215//EN" '
    '"JATS-journalpublishing1.dtd">\n'
)


def _value(token: Token) -> str:
    return escape(token.gold if token.gold is not None else token.text)


def field(token: Token, manner: str, prefix: str = "xlink") -> str:
    """One tagged field; `ore` keeps print italics inside the source."""
    name = token.field
    value = _value(token)
    if name == "uri":
        href = quoteattr(token.text)
        return f'<ext-link ext-link-type="uri" {prefix}:href={href}>{value}</ext-link>'
    if name == "doi" and manner == "ore":
        href = quoteattr(f"https://doi.org/{token.text}")
        return f'<ext-link ext-link-type="doi" {prefix}:href={href}>{value}</ext-link>'
    if name == "doi":
        return f'<pub-id pub-id-type="doi">{value}</pub-id>'
    if name == "source" and manner == "ore" and token.face == "i":
        return f'<source><italic toggle="yes">{value}</italic></source>'
    return f"<{name}>{value}</{name}>"


def _named(tokens: list[Token], manner: str) -> str:
    """The tokens of one person, wrapped; the punctuation between the parts stays."""
    inner = "".join(field(t, manner) if t.field else escape(t.text) for t in tokens)
    if tokens[0].field in ("collab", "etal"):
        return inner
    if manner == "ore":
        return f'<name name-style="western">{inner}</name>'
    return f"<string-name>{inner}</string-name>"


def _pieces(tokens: list[Token], manner: str, prefix: str) -> Iterator[tuple[str, str]]:
    """(role, markup) of each stretch: a whole name, a field or punctuation."""
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if not token.person:
            yield "", field(token, manner, prefix) if token.field else escape(token.text)
            at += 1
            continue
        end = at
        while end < len(tokens) and tokens[end].person == token.person:
            end += 1
        yield token.person.split(":")[0], _named(tokens[at:end], manner)
        at = end


def mixed(reference: Reference, manner: str) -> str:
    """The tagged `mixed-citation`; its text is exactly the printed reference."""
    prefix = "ns0" if manner == "ore" else "xlink"
    pieces = list(_pieces(list(reference.tokens), manner, prefix))
    roles = ("author", "editor") if manner == "ore" else ("editor",)
    for role in roles:
        where = [number for number, (found, _) in enumerate(pieces) if found == role]
        if where:
            first, last = where[0], where[-1]
            opening = f'<person-group person-group-type="{role}">'
            pieces[first] = (role, opening + pieces[first][1])
            pieces[last] = (role, pieces[last][1] + "</person-group>")
    body = "".join(markup for _, markup in pieces).strip()
    kind = f'publication-type="{_type(reference, manner)}"'
    space = f' xmlns:{prefix}="{XLINK}"' if f"{prefix}:href" in body else ""
    return f"<mixed-citation{space} {kind}>{body}</mixed-citation>"


def _type(reference: Reference, manner: str) -> str:
    kind = reference.work.kind
    return "book" if kind == "chapter" and manner != "pkp" else kind


def _group(tokens: list[Token], role: str, indent: str) -> list[str]:
    people: dict[str, list[Token]] = {}
    for token in tokens:
        if token.person.startswith(role) and token.field:
            people.setdefault(token.person, []).append(token)
    if not people:
        return []
    lines = [f'{indent}<person-group person-group-type="{role}">']
    for parts in people.values():
        inner = "".join(f"<{t.field}>{_value(t)}</{t.field}>" for t in parts)
        if parts[0].field == "etal":
            inner = "<etal/>"
        elif parts[0].field != "collab":
            inner = f"<name>{inner}</name>"
        lines.append(f"{indent}  {inner}")
    return [*lines, f"{indent}</person-group>"]


def element(reference: Reference, indent: str = "        ") -> str:
    """The pretty-printed `element-citation`: fields only, no text between the tags."""
    tokens = list(reference.tokens)
    inner = indent + "  "
    lines = [f'{indent}<element-citation publication-type="{_type(reference, "scielo")}">']
    lines += _group(tokens, "author", inner) + _group(tokens, "editor", inner)
    lines += [inner + field(t, "scielo") for t in tokens if t.field and not t.person]
    return "\n".join([*lines, f"{indent}</element-citation>"])


def _ref(number: int, reference: Reference, article: Article) -> str:
    parts = [f'      <ref id="B{number}">']
    if article.numbered:
        parts.append(f"        <label>{number}</label>")
    if article.manner in ("scielo", "redalyc"):
        plain = escape(printed(list(reference.tokens)))
        if not article.element_only:
            parts.append(f"        <mixed-citation>{plain}</mixed-citation>")
        parts.append(element(reference))
    else:
        parts.append("        " + mixed(reference, article.manner))
    return "\n".join([*parts, "      </ref>"])


def _contributors(article: Article) -> str:
    lines = [
        f'        <contrib contrib-type="author"><name><surname>{escape(person.surname)}</surname>'
        f"<given-names>{escape(person.given)}</given-names></name></contrib>"
        for person in article.authors
    ]
    return "\n".join(["      <contrib-group>", *lines, "      </contrib-group>"])


def _front(article: Article) -> str:
    kind = "publisher-id" if article.manner == "pkp" else "doi"
    number = article.name if article.manner == "pkp" else article.doi
    abstract = " ".join(escape(text) for text in article.abstract)
    return f"""  <front>
    <journal-meta>
      <journal-title-group><journal-title>{escape(article.journal)}</journal-title></journal-title-group>
      <publisher><publisher-name>{escape(article.publisher)}</publisher-name></publisher>
    </journal-meta>
    <article-meta>
      <article-id pub-id-type="{kind}">{escape(number)}</article-id>
      <title-group><article-title>{escape(article.title)}</article-title></title-group>
{_contributors(article)}
      <pub-date><year>{article.year}</year></pub-date>
      <volume>{article.volume}</volume>
      <issue>{article.issue}</issue>
      <fpage>{article.first_page}</fpage>
      <abstract><p>{abstract}</p></abstract>
    </article-meta>
  </front>"""


def _running(text: str) -> str:
    return escape(text).replace(SUPER, "<sup>").replace(END, "</sup>")


def _section(title: str, paragraphs: list[str], indent: str = "    ") -> str:
    body = "\n".join(f"{indent}  <p>{_running(text)}</p>" for text in paragraphs)
    return f"{indent}<sec>\n{indent}  <title>{escape(title)}</title>\n{body}\n{indent}</sec>"


def document(article: Article) -> str:
    """The whole article as JATS; well formed, UTF-8, deterministic."""
    refs = "\n".join(_ref(n, ref, article) for n, ref in enumerate(article.references, 1))
    body = "\n".join(_section(section.title, section.paragraphs) for section in article.body)
    after = "\n".join(_section(section.title, section.paragraphs) for section in article.after)
    appendix = f"\n    <app-group><app>\n{after}\n    </app></app-group>" if after else ""
    doctype = DOCTYPE if article.manner in ("scielo", "redalyc") else ""
    return f"""<?xml version="1.0" encoding="UTF-8"?>
{doctype}<article xmlns:xlink="{XLINK}" article-type="{article.kind}" xml:lang="{article.lang}">
{_front(article)}
  <body>
{body}
  </body>
  <back>
    <ref-list>
      <title>{escape(article.heading)}</title>
{refs}
    </ref-list>{appendix}
  </back>
</article>
"""
