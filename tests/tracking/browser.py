"""A person in the MLflow UI, played by headless Chromium. Works on any store with two evaluations.

python -m tests.tracking.browser ADDRESS FOLDER      writes the screenshots of a running UI to FOLDER
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import Locator, Page, sync_playwright

ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
CHROMIUM = shutil.which("chromium")
PATIENCE_MS = 240_000

IS_IN_VIEW = """cell => {
    const inner = cell.getBoundingClientRect();
    const outer = cell.closest('[role=grid]').getBoundingClientRect();
    return inner.top > outer.top + 40 && inner.bottom < outer.bottom - 40;
}"""
# The compare view lists metrics in two scrolled grids side by side: names, and values by run. Cells of
# one line have the same top.
CELLS_BESIDE = """name => {
    const line = name.parentElement, both = line.closest('[role=grid]').parentElement.parentElement;
    return [...both.querySelectorAll('[role=rowgroup] > div')]
        .filter(cell => cell !== line && cell.style.top === line.style.top)
        .map(cell => cell.innerText.trim());
}"""


@contextmanager
def browser_page(width: int = 1400, height: int = 1000) -> Iterator[Page]:
    """A page of the system's Chromium."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=ARGUMENTS, timeout=PATIENCE_MS
        )
        page = browser.new_page(viewport={"width": width, "height": height})
        page.set_default_timeout(PATIENCE_MS)
        try:
            yield page
        finally:
            browser.close()


class MlflowUi:
    """What a person does with the MLflow UI at `address`; screenshots go to `folder`."""

    def __init__(self, page: Page, address: str, folder: Path) -> None:
        self._page = page
        self._address = address
        self._folder = folder

    def open(self, link: str) -> None:
        """Go to a place inside the UI."""
        self._page.goto("about:blank")  # without it, only the part after # would change
        view = f"{'&' if '?' in link else '?'}workflowType=machine_learning"
        self._page.goto(f"{self._address}/{link}{view}")
        self._close_assistant()

    def screenshot(self, name: str) -> Path:
        """Keep what is shown."""
        path = self._folder / f"{name}.png"
        self._page.screenshot(path=path)
        return path

    def find_experiment(self, name: str) -> str:
        """See an experiment in the list; returns its id."""
        self.open("#/experiments")
        link = self._page.get_by_role("link", name=name, exact=True).first
        link.wait_for()
        self.screenshot("experiments")
        found = re.search(r"/experiments/(\d+)", link.get_attribute("href") or "")
        assert found, "the experiment's link has no id"
        return found.group(1)

    def filter_runs(self, experiment: str, query: str, names: Sequence[str]) -> None:
        """Filter an experiment's runs; wait until some, and all of `names`, are listed."""
        self.open(f"#/experiments/{experiment}/runs?searchFilter={quote(query)}")
        self._page.get_by_text("matching run").first.wait_for()
        self._page.locator("a[href*='/runs/']").nth(1).wait_for()
        for name in names:
            self._page.get_by_role("link", name=name).first.wait_for()
        self.screenshot("runs")

    def compare_all_listed(self, metric: str) -> list[str]:
        """Tick all listed runs, press Compare; returns the metric's values, one a run."""
        self._page.get_by_role("checkbox").first.click()
        self._page.get_by_role("button", name="Compare").first.click()
        return self.compared_values(metric)

    def compared_values(self, metric: str) -> list[str]:
        """Scroll the compare view's list of metrics to `metric`; returns its values, one a run."""
        grid = self._page.locator("[role=grid]").nth(1)  # the first one has the names
        grid.wait_for()
        grid.scroll_into_view_if_needed()
        cell = self._page.locator(
            f"a[title='Plot chart'][href*='metric=%22{quote(metric, safe='')}%22']"
        )
        grid.hover()
        for pause_ms in (50, 500, 2000):  # lines are drawn when the machine has time
            if self._scrolled_to(cell, pause_ms):
                break
            self._page.mouse.wheel(0, -100_000)
        # In MLflow 3.17 the names lag one scroll step behind the values; a last small one lines them up.
        self._page.mouse.wheel(0, 1)
        values = self._settled(cell)
        self.screenshot("compare")
        return values

    def _scrolled_to(self, cell: Locator, pause_ms: float) -> bool:
        """Scroll what is under the mouse, a few lines at a time, until `cell` is in view."""
        for _ in range(100):
            if cell.evaluate_all(f"cells => cells.some({IS_IN_VIEW})"):
                return True
            self._page.mouse.wheel(0, 90)
            self._page.wait_for_timeout(pause_ms)
        return False

    def _settled(self, cell: Locator) -> list[str]:
        """The values beside a metric's name, once they are drawn and stay the same."""
        before: list[str] = []
        for _ in range(PATIENCE_MS // 300):
            self._page.wait_for_timeout(300)
            values: list[str] = cell.first.evaluate(CELLS_BESIDE)
            if values and all(values) and values == before:
                break
            before = values
        return before

    def read_run(self, link: str, texts: Sequence[str]) -> None:
        """Open a run and see `texts` (its metrics, description, data set) there."""
        self.open(link)
        for text in texts:
            self._page.get_by_text(text).first.wait_for()
        self.screenshot("run")

    def read_artifact(self, link: str, name: str, text: str) -> None:
        """Open an artifact of a run and see `text` in it."""
        self.open(f"{link}/artifacts/{name}")
        frame = self._page.frame_locator("iframe") if name.endswith(".html") else self._page
        frame.get_by_text(text).first.wait_for()
        self.screenshot(f"artifact-{name.replace('/', '-').replace('.', '-')}")

    def follow_data(self, link: str, data: str, digest: str) -> None:
        """From a run to the data set that went into it."""
        self.open(link)
        self._page.get_by_text(f"{data} ({digest})").first.click()
        drawer = self._page.get_by_role("dialog")
        drawer.get_by_text(digest).first.wait_for()
        self.screenshot("data")

    def _close_assistant(self) -> None:
        """MLflow may open a chat panel that covers a third of the page; close it as a person would."""
        self._page.get_by_role("button").first.wait_for()
        close = self._page.locator("[data-component-id='mlflow.assistant.chat_panel.close']")
        if close.count():
            close.first.click()


def look_at_evaluations(
    address: str, folder: Path, metric: str = "recall/lenient/surname"
) -> list[str]:
    """Find the evaluations, tick them, compare them; returns the compared values of `metric`."""
    with browser_page() as page:
        ui = MlflowUi(page, address, folder)
        experiment = ui.find_experiment("reno/evaluate")
        ui.filter_runs(experiment, "tags.job = 'evaluate' AND attributes.status = 'FINISHED'", [])
        return ui.compare_all_listed(metric)


if __name__ == "__main__":
    print(look_at_evaluations(sys.argv[1], Path(sys.argv[2])))
