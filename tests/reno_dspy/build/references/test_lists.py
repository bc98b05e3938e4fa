"""Lists that are hard to find or to cut, as articles print them."""

from __future__ import annotations

import pytest

from reno_dspy.build.pdf.text import PAGE_BREAK
from reno_dspy.build.references.find import extract, find_list, verify

REFERENCES = [
    f"Veldt A, Marsh B. {title}. J Fict. {1980 + i};{i + 1}(2):1-9."
    for i, title in enumerate(
        [
            "On glass bees",
            "A map of fog",
            "Salt and light",
            "Paper tides",
            "Moss clocks",
            "Odd birds",
        ]
    )
]


def numbered(label: str = "{}. ") -> list[str]:
    return [label.format(i) + reference for i, reference in enumerate(REFERENCES, start=1)]


def test_several_works_under_one_number_are_several_references() -> None:
    lines = ["References", ""]
    for i in range(1, 6):
        lines.append(
            f"[{i}] a) A. Veldt, J. Fict. 199{i}, 1, 12–19; b) B. Marsh, Fog Lett. 200{i}, 2, 5–9;"
        )
        lines.append(f"c) C. Odd, Moss Today 201{i}, 3, 7.")
    found = find_list("\n".join(lines))
    assert [r.text for r in found[:3]] == [
        "A. Veldt, J. Fict. 1991, 1, 12–19",
        "B. Marsh, Fog Lett. 2001, 2, 5–9",
        "C. Odd, Moss Today 2011, 3, 7.",
    ]
    assert [r.label for r in found[:4]] == ["[1]", "", "", "[2]"]
    assert len(found) == 15
    assert not verify([r.text for r in found], "\n".join(lines)).hallucinated


def test_a_running_head_named_as_the_list_does_not_take_the_heading_with_it() -> None:
    pages = [f"References {n}\n\nSome text of page {n}.\n" for n in range(9, 12)]
    pages.append("\n".join(["References", "", *REFERENCES, "", "References 12"]))
    text = PAGE_BREAK.join(pages)
    assert extract(text) == REFERENCES


def test_of_several_runs_of_numbers_the_one_of_references_is_taken() -> None:
    affiliations = [f"{i} Department of Fog, University {i}, Nordhaven" for i in range(1, 30)]
    text = "\n".join([*affiliations, "", "Body text.", "", *numbered("[{}] ")])
    assert extract(text) == REFERENCES


def test_a_short_list_under_a_heading_does_not_hide_the_whole_one() -> None:
    more = [f"{i}. Odd C. Birds of {i}. J Fict. {1990 + i};{i}:1-2." for i in range(7, 24)]
    figure = [
        "",
        "body text that stands between columns and goes on and on",
        "",
        "80",
        "",
        "20",
        "",
    ]
    lines = ["References", "", *numbered()[:4], *figure, *numbered()[4:], *more]
    assert len(extract("\n".join(lines))) == 23


def test_a_label_of_another_style_between_its_neighbours_is_one_of_the_list() -> None:
    lines = numbered()
    lines[3] = lines[3].replace("4. ", "4 ")
    assert extract("\n".join(["References", "", *lines])) == REFERENCES


@pytest.mark.parametrize(
    "caption",
    [
        ["Figure 3. Bees per hour", "in glass and in fog", "a b c"],
        ["Table 2: What was counted", "3 4 5"],
    ],
)
def test_a_caption_is_left_out_whole(caption: list[str]) -> None:
    lines = ["References", "", *REFERENCES[:3], "", *caption, "", *REFERENCES[3:]]
    text = "\n".join(lines)
    found = extract(text)
    assert found == REFERENCES
    assert not verify(found, text).hallucinated


def test_a_journals_name_at_a_lines_end_goes_on() -> None:
    lines = [
        "References",
        "Veldt, A., and Marsh, B. (1999). Bees of glass, and fog. Proc.",
        "Natl. Acad. Sci. U.S.A. 96, 1–9.",
        "Marsh, B. (2001). Odd birds in salt and light. PLoS",
        "ONE 3:e12. doi: 10.5555/12",
        "Odd, C. (2002). Moss clocks, wound up again. Open",
        "Biol. J. 3, 4–5.",
    ]
    assert len(extract("\n".join(lines))) == 3


def test_names_of_links_are_no_part_of_a_reference() -> None:
    lines = [
        f"{line} PubMed Abstract | Publisher Full Text | Free Full Text" for line in numbered()
    ]
    assert extract("\n".join(["References", *lines])) == REFERENCES


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(f"{1 + i % 3} Main Street, {i} Nordhaven" for i in range(10_000)),
        "\n".join(f"Sentence {i} about foxes." for i in range(6_000)),
        "word " * 1_000_000,
        "References\n" * 3_000,
        "\n".join("Acknowledgements\n\nReferences\nVeldt A. Fog. 1999." for _ in range(1_000)),
        "References\n" + "http://fog.example/http://fog.example/\n" * 10_000,
        "References\n" + "雾雾雾雾雾雾雾雾雾雾\n" * 10_000,
        "References\n" + "A-" * 200_000,
        "#" * 300_000,
    ],
    ids=[
        "addresses",
        "prose",
        "one line",
        "headings",
        "ends",
        "broken address",
        "Chinese",
        "hyphens",
        "signs",
    ],
)
def test_long_texts_take_one_pass(text: str) -> None:
    # A quadratic search would run into the suite's time limit.
    assert len(extract(text)) <= 1_000
