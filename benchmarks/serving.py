"""Tokens per second of an OpenAI-compatible endpoint at 1, 8 and 16 requests at once.

    reno serve smollm2-135m --port 8000        (or any other server)
    python benchmarks/serving.py --api-base http://127.0.0.1:8000/v1 --model smollm2-135m

Every request has the same two-shot beginning (about 600 tokens) and its own reference, as in
`reno evaluate`; one warm-up request is not counted. Completion tokens are those the server reports.
"""

from __future__ import annotations

import argparse
import time
from concurrent.futures import ThreadPoolExecutor

import httpx

SYSTEM = (
    "You are an expert in annotating references using the Journal Article Tag Suite (JATS). "
    "Respond only with the annotated reference in JATS format and nothing else. Put tags around the "
    "parts of the reference and change no character of it: surname, given-names, article-title, "
    "source, volume, issue, fpage, lpage, year, pub-id."
)
REFERENCES = (
    "1. Alvorada MC, Teixeira P. Soil moisture and the growth of imaginary maize in fictional "
    "highlands. J Invented Agron. 2014;12(3):145-52. doi:10.5555/jia.2014.0145",
    "2. Brennholt, K., & Óskarsson, Þ. (2009). A field guide to paper birds: Migration and folding "
    "in the northern archive. Reykjavík: Nowhere Press. https://example.org/paper-birds",
)
ANSWERS = (
    '<mixed-citation publication-type="journal"><label>1</label>. <name><surname>Alvorada</surname> '
    "<given-names>MC</given-names></name>, <name><surname>Teixeira</surname> <given-names>P"
    "</given-names></name>. <article-title>Soil moisture and the growth of imaginary maize in "
    "fictional highlands</article-title>. <source>J Invented Agron</source>. <year>2014</year>;"
    "<volume>12</volume>(<issue>3</issue>):<fpage>145</fpage>-<lpage>52</lpage>. "
    'doi:<pub-id pub-id-type="doi">10.5555/jia.2014.0145</pub-id></mixed-citation>',
    '<mixed-citation publication-type="book"><label>2</label>. <name><surname>Brennholt</surname>, '
    "<given-names>K.</given-names></name>, &amp; <name><surname>Óskarsson</surname>, <given-names>Þ."
    "</given-names></name> (<year>2009</year>). <source>A field guide to paper birds: Migration and "
    "folding in the northern archive</source>. Reykjavík: Nowhere Press. "
    "<uri>https://example.org/paper-birds</uri></mixed-citation>",
)


def messages(number: int) -> list[dict[str, str]]:
    """A two-shot chat whose last turn is a reference of its own for each `number`."""
    turns = [{"role": "system", "content": SYSTEM}]
    for reference, answer in zip(REFERENCES, ANSWERS, strict=True):
        turns.append({"role": "user", "content": reference})
        turns.append({"role": "assistant", "content": answer})
    asked = (
        f"{number}. Author{number} AB, Writer CD, Penman EF. On the {number}th measurement of things "
        f"that are not there: a cohort of {number * 37} readers. Ann Fict Sci. {1950 + number % 70};"
        f"{number}(2):{number}1-{number}9."
    )
    return [*turns, {"role": "user", "content": asked}]


def ask(client: httpx.Client, model: str, number: int, max_tokens: int) -> dict[str, int]:
    """One greedy request; returns the server's `usage`."""
    body = {
        "model": model, "messages": messages(number), "temperature": 0, "max_tokens": max_tokens,
    }  # fmt: skip
    reply = client.post("/chat/completions", json=body)
    reply.raise_for_status()
    usage: dict[str, int] = reply.json()["usage"]
    return usage


def measure(client: httpx.Client, model: str, at_once: int, max_tokens: int, first: int) -> str:
    """A line of figures for `2 * at_once` requests, `at_once` of them at any time."""
    started = time.perf_counter()
    with ThreadPoolExecutor(at_once) as pool:
        numbers = range(first, first + 2 * at_once)
        usages = list(pool.map(lambda n: ask(client, model, n, max_tokens), numbers))
    seconds = time.perf_counter() - started
    prompt = sum(usage["prompt_tokens"] for usage in usages) / len(usages)
    written = sum(usage["completion_tokens"] for usage in usages)
    return (
        f"{at_once:3} at once: {written / seconds:6.1f} tokens/s "
        f"({len(usages)} requests, {prompt:.0f} prompt and {written / len(usages):.0f} new tokens "
        f"each, {seconds:.1f} s)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--api-base", default="http://127.0.0.1:8000/v1")
    parser.add_argument("--model", required=True)
    parser.add_argument("--at-once", type=int, nargs="+", default=[1, 8, 16])
    parser.add_argument("--max-tokens", type=int, default=200)
    options = parser.parse_args()
    with httpx.Client(base_url=options.api_base, timeout=1200) as client:
        ask(client, options.model, 1000, 8)
        first = 1
        for at_once in options.at_once:
            line = measure(client, options.model, at_once, options.max_tokens, first)
            print(line, flush=True)
            first += 2 * at_once


if __name__ == "__main__":
    main()
