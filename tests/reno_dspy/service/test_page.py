"""The page in a real browser: a person pastes, corrects, accepts, saves, comes back, and downloads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lxml import etree
from playwright.sync_api import Page, expect

from reno_dspy.data.dataset import load, splits_of
from reno_dspy.jats.citation import parse, read_values
from tests.reno_dspy.service.scripted import served
from tests.tracking.browser import CHROMIUM, browser_page

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Debian's chromium")

MS = 60_000
FOXES = "Ito K. Foxes of the north. J Fict. 2010;12:3."
OWLS = "Abe M. Owls. Ann Estuar. 2011;4:55."
PLAIN = "Nobody knows what this is, 1999"


@pytest.fixture
def page() -> Iterator[Page]:
    with browser_page(1100, 900) as page:
        page.set_default_timeout(MS)
        expect.set_options(timeout=MS)
        trouble: list[str] = []
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("console", lambda said: trouble.append(said.text) if said.type == "error" else None)
        page.on("dialog", lambda dialog: dialog.accept())
        yield page
        assert [said for said in trouble if "401 (Unauthorized)" not in said] == []


def paste(page: Page, *references: str) -> None:
    page.get_by_label("References, one a line").fill("\n".join(references))
    page.get_by_role("button", name="Read references").click()
    expect(page.locator(".card").first).to_be_visible()


def card(page: Page, number: int) -> Any:
    return page.locator(".card").nth(number - 1)


def field(page: Page, number: int, name: str) -> Any:
    """A field of a reference, by the name that a screen reader says."""
    return card(page, number).locator(".text").get_by_role("button", name=name)


def drag_over(page: Page, number: int, text: str) -> None:
    """Select `text` in a reference with the mouse."""
    box = (
        card(page, number)
        .locator(".text")
        .evaluate(
            """(root, text) => {
            const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
            for (let node; (node = walker.nextNode()); ) {
                const at = node.data.indexOf(text);
                if (at < 0) continue;
                const range = document.createRange();
                range.setStart(node, at);
                range.setEnd(node, at + text.length);
                const { left, right, top, height } = range.getBoundingClientRect();
                return { left, right, y: top + height / 2 };
            }
        }""",
            text,
        )
    )
    page.mouse.move(box["left"] + 0.5, box["y"])
    page.mouse.down()
    page.mouse.move(box["right"] - 0.5, box["y"], steps=5)
    page.mouse.up()


def downloaded(page: Page, name: str) -> str:
    page.get_by_text("Download", exact=True).click()
    with page.expect_download() as waiting:
        page.get_by_role("button", name=name).click()
    return Path(waiting.value.path()).read_text(encoding="utf-8")


def values(xml: str) -> dict[str, tuple[str, ...]]:
    names = ("surname", "article-title", "source", "year", "volume", "issue", "comment")
    return {name: found for name, found in read_values(parse(xml), names).items() if found}


def test_from_paste_to_rows(page: Page, tmp_path: Path) -> None:
    folder = tmp_path / "corrections"
    with served(folder) as address:
        page.goto(address)
        paste(page, FOXES, OWLS, PLAIN, FOXES.upper())
        expect(page.locator(".card")).to_have_count(3)  # the same reference is one
        page.get_by_role("button", name="Unsure 2").click()
        expect(page.locator(".card")).to_have_count(2)

        # The source is marked as unsure, and is a conference; its end is a word too early.
        field(page, 1, "source: J Fict, unsure, 40% sure").click()
        page.get_by_role("button", name="Start one word on").click()
        expect(field(page, 1, "source: Fict")).to_be_visible()
        page.get_by_label("Other field").select_option("conf-name")
        page.get_by_role("button", name="Done").click()
        expect(field(page, 1, "conference: Fict")).to_be_focused()

        # The title takes the full stop and gives it back; the year becomes an issue, by mistake.
        field(page, 1, "article title").click()
        page.get_by_role("button", name="End one character on").click()
        expect(field(page, 1, "article title: Foxes of the north.")).to_be_visible()
        page.get_by_role("button", name="End one character back").click()
        field(page, 1, "year").click()
        page.get_by_role("button", name="issue", exact=True).click()
        page.keyboard.press("Control+z")
        expect(field(page, 1, "year: 2010")).to_be_visible()
        page.keyboard.press("Control+Shift+z")
        expect(field(page, 1, "issue: 2010")).to_be_visible()
        page.get_by_role("button", name="Undo").click()
        page.get_by_label("Publication type of reference 1").select_option("confproc")
        page.get_by_role("button", name="Accept reference 1").click()
        expect(page.locator(".card")).to_have_count(1)

        # Nothing is known of the third: a person marks a year and a comment, and takes the comment back.
        page.get_by_role("button", name="All 3").click()
        drag_over(page, 3, "1999")
        page.get_by_role("button", name="year", exact=True).click()
        page.get_by_role("button", name="Done").click()
        drag_over(page, 3, "what this")
        page.get_by_label("Other field").select_option("comment")
        expect(field(page, 3, "comment: what this")).to_be_visible()
        page.get_by_role("button", name="Remove field").click()
        expect(field(page, 3, "comment")).to_have_count(0)
        page.get_by_role("button", name="Accept reference 3").click()
        expect(page.get_by_text("2 of 3 accepted")).to_be_visible()

        assert not (folder / "corrections.jsonl").exists()
        page.get_by_role("button", name="Save (3)").click()
        expect(page.get_by_role("button", name="Saved")).to_be_disabled()
        page.reload()
        check_corrected(page)
    with served(folder, port=int(address.rpartition(":")[2])) as again:
        assert again == address
        page.goto(again)
        check_corrected(page)
        rows = [json.loads(line) for line in downloaded(page, "Rows for training").splitlines()]
        jats = etree.fromstring(downloaded(page, "JATS XML").encode())
        csl = json.loads(downloaded(page, "CSL-JSON"))
        bibtex, ris = downloaded(page, "BibTeX"), downloaded(page, "RIS")

        # What is removed is forgotten once that is saved.
        page.get_by_role("button", name="Remove reference 3").click()
        page.get_by_role("button", name="Save (1)").click()
        expect(page.get_by_role("button", name="Saved")).to_be_disabled()

    assert [row["plaintext"] for row in rows] == [FOXES, PLAIN]
    assert rows[0]["publication_type"] == "confproc"
    corrected = values(rows[0]["xml"])
    assert corrected["article-title"] == ("Foxes of the north",)
    assert "source" not in corrected
    assert corrected["year"] == ("2010",)
    assert values(rows[1]["xml"]) == {"year": ("1999",)}
    assert len(jats.findall("ref")) == len(csl) == 3
    assert csl[0]["event-title"] == "Fict"
    assert bibtex.count("@") == ris.count("ER  -") == 3
    assert "Foxes of the north" in bibtex
    assert "TI  - Foxes of the north" in ris
    kept = [row for split in splits_of(str(folder)) for row in load(str(folder), split).rows]
    assert [(row.plaintext, row.xml) for row in kept] == [(FOXES, rows[0]["xml"])]
    assert PLAIN not in (folder / "corrections.jsonl").read_text(encoding="utf-8")


def check_corrected(page: Page) -> None:
    expect(page.locator(".card")).to_have_count(3)
    expect(page.get_by_text("2 of 3 accepted")).to_be_visible()
    expect(field(page, 1, "conference: Fict")).to_be_visible()
    expect(field(page, 2, "source: Ann Estuar, unsure")).to_be_visible()
    expect(page.get_by_role("button", name="Accept reference 1")).to_have_attribute(
        "aria-pressed", "true"
    )


def test_with_the_keyboard_alone(page: Page, tmp_path: Path) -> None:
    press = page.keyboard.press
    with served(tmp_path / "c") as address:
        page.goto(address)
        for _ in range(9):
            if page.evaluate("document.activeElement.id") == "input":
                break
            press("Tab")
        page.keyboard.insert_text(f"{FOXES}\n{OWLS}")
        press("Control+Enter")
        expect(field(page, 1, "surname: Ito")).to_be_focused()
        press("ArrowRight")
        press("ArrowRight")
        expect(field(page, 1, "article title")).to_be_focused()
        press("Control+Shift+ArrowLeft")
        expect(field(page, 1, "article title: Foxes of the")).to_be_focused()
        press("Shift+ArrowLeft")
        expect(field(page, 1, "article title: Foxes of th")).to_be_focused()
        press("Control+Alt+ArrowRight")
        expect(field(page, 1, "article title: of th")).to_be_focused()
        for _ in range(3):
            press("Control+z")
        expect(field(page, 1, "article title: Foxes of the north")).to_be_focused()
        press("Escape")
        press("Delete")
        expect(field(page, 1, "article title")).to_have_count(0)
        press("ArrowLeft")
        press("n")  # a new field: the first free word after the given names
        expect(page.get_by_role("group", name="New field")).to_be_visible()
        page.get_by_role("button", name="End one word on").focus()
        for _ in range(3):
            press("Enter")
        page.get_by_role("button", name="chapter title", exact=True).focus()
        press("Enter")
        expect(field(page, 1, "chapter title: Foxes of the north")).to_be_visible()
        press("Escape")
        expect(field(page, 1, "chapter title")).to_be_focused()
        press("a")
        expect(field(page, 2, "surname: Abe")).to_be_focused()
        press("ArrowUp")
        expect(field(page, 1, "surname: Ito")).to_be_focused()
        press("Control+s")
        expect(page.get_by_role("button", name="Saved")).to_be_visible()
    data = str(tmp_path / "c")
    (row,) = (row for split in splits_of(data) for row in load(data, split).rows)
    assert "<chapter-title>Foxes of the north</chapter-title>" in row.xml


def test_on_a_small_screen(page: Page, tmp_path: Path) -> None:
    page.set_viewport_size({"width": 360, "height": 720})
    overflow = "document.documentElement.scrollWidth - innerWidth"
    with served(tmp_path / "c") as address:
        page.goto(address)
        assert page.evaluate(overflow) <= 0
        paste(page, FOXES, "https://example.org/" + "very-long-address/" * 20, OWLS)
        field(page, 1, "source").click()
        field(page, 1, "source").hover()
        page.get_by_text("Mouse and keyboard").click()
        page.get_by_text("Download", exact=True).click()
        page.get_by_text("Add references").click()
        page.get_by_text("About this list").click()
        assert page.evaluate(overflow) <= 0
        # Every control has a name, and is large enough for a finger.
        for control in page.locator("button:visible, select:visible, .field:visible").all():
            box = control.bounding_box()
            assert box
            assert box["height"] >= 18
            assert control.evaluate("e => e.ariaLabel || e.innerText.trim() || e.labels?.length")


def test_references_are_never_run_nor_sent_elsewhere(page: Page, tmp_path: Path) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(f"{request.method} {request.url}"))
    hostile = "Ito K. <img src=x onerror=alert(1)> 𝒜𝒷 e\u0301 &amp;. J <b>Fict. 2010;12:3."
    folder = tmp_path / "c"
    with served(folder) as address:
        page.goto(address)
        paste(page, hostile, "مرجع ۱۳۹۹")
        title = field(page, 1, "article title")
        expect(title).to_have_text("<img src=x onerror=alert(1)> 𝒜𝒷 e\u0301 &amp;")
        title.click()
        for _ in range(2):
            page.get_by_role("button", name="End one word back").click()
        for _ in range(2):
            page.get_by_role("button", name="End one character back").click()
        expect(title).to_have_text("<img src=x onerror=alert(1)> 𝒜")
        page.get_by_role("button", name="Accept reference 1").click()
        answers = [one for one in asked if one.startswith("POST")]
        assert answers == [f"POST {address}/annotate"]
        assert [path.name for path in folder.iterdir()] == [".lock"]
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("button", name="Saved")).to_be_visible()
        assert all(one.split()[1].startswith((address, "data:")) for one in asked)
    data = str(folder)
    (row,) = (row for split in splits_of(data) for row in load(data, split).rows)
    assert values(row.xml)["article-title"] == ("<img src=x onerror=alert(1)> 𝒜",)
    assert values(row.xml)["source"] == ("J <b>Fict",)


def test_a_service_that_keeps_nothing_says_so(page: Page) -> None:
    with served(None) as address:
        page.goto(address)
        expect(page.get_by_text("This service keeps nothing")).to_be_visible()
        paste(page, FOXES)
        expect(page.get_by_role("button", name="Save")).to_have_count(0)
        page.get_by_text("Download", exact=True).click()
        page.get_by_role("button", name="Rows for training").click()
        expect(page.get_by_role("alert")).to_contain_text("No reference is accepted yet")
        assert "Foxes of the north" in downloaded(page, "JATS XML")


def test_a_service_with_a_token_asks_for_it(page: Page, tmp_path: Path) -> None:
    with served(tmp_path / "c", token="heron") as address:
        page.goto(address)
        asked = page.get_by_label("This service asks for its token")
        asked.fill("stork")
        page.get_by_role("button", name="Go on").click()
        asked.fill("heron")
        page.get_by_role("button", name="Go on").click()
        paste(page, FOXES)
        expect(field(page, 1, "surname: Ito")).to_be_focused()
