"""Dagster's pages as Chromium shows them, and the points of their plots as the chart has them."""

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Locator, Page, sync_playwright

INSTALL = "apt-get install -y --no-install-recommends chromium"

_FLAGS = (
    # Chromium refuses to run as root with its sandbox; the pages are our own.
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
_SECONDS = 90

# A plot is a canvas, which shows no text: its values are in the properties of the React component that drew it.
_PLOTTED = """
() => [...document.querySelectorAll("canvas")].map((canvas) => {
  let fiber = canvas[Object.keys(canvas).find((key) => key.startsWith("__reactFiber"))];
  while (fiber && !fiber.memoizedProps?.data?.datasets) fiber = fiber.return;
  return (fiber?.memoizedProps.data.datasets ?? []).map(({label, data}) => [label, data]);
}).flat()
"""


def chromium() -> str:
    """Where the distribution's Chromium is.

    Raises:
        FileNotFoundError: there is none; names the command that installs it.
    """
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        raise FileNotFoundError(f"the UI is tested in Chromium, and there is none: {INSTALL}")
    return found


@contextmanager
def opened(url: str) -> Iterator[Page]:
    """A page of the webserver at that address."""
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as profile:
        context = playwright.chromium.launch_persistent_context(
            profile,
            executable_path=chromium(),
            args=list(_FLAGS),
            base_url=url,
            viewport={"width": 1200, "height": 760},
        )
        context.set_default_timeout(_SECONDS * 1000)
        yield context.pages[0]
        context.close()


def plots(page: Page, table: str) -> Mapping[str, Sequence[float]]:
    """Open the plots of an asset over time: by metadata key the values of its points, as they are drawn."""
    page.goto(f"/assets/{table}?view=overview")
    page.get_by_role("button", name="Plots").click()
    page.get_by_role("button", name="Events").click()
    page.locator("canvas").first.wait_for()
    drawn = dict(page.evaluate(_PLOTTED))
    return {key: [point["y"] for point in sorted(points, key=lambda p: p["x"])] for key, points in drawn.items()}


def partitions(page: Page, table: str, day: str) -> str:
    """Open one partition of an asset, and read the page."""
    page.goto(f"/assets/{table}?view=partitions&partition={day}")
    page.get_by_text("iceberg/reason", exact=True).wait_for()
    return text(page)


def check(page: Page, table: str, name: str) -> str:
    """Open a check of an asset, and read the page."""
    page.goto(f"/assets/{table}?view=checks&checkDetail={name}")
    page.get_by_text("Latest execution").wait_for()
    return text(page)


def reason(page: Page, location: str, sensor: str) -> str:
    """Open a sensor: why its newest tick asked for nothing, as the page shows it where the pointer is."""
    page.goto(f"/locations/{location}/sensors/{sensor}")
    page.locator("table").last.get_by_text("0 runs requested").first.hover()
    shown = page.get_by_role("tooltip").first
    # The tip itself is for screen readers and not to be seen; what is seen stands around it.
    shown.wait_for(state="attached")
    return shown.inner_text()


def text(page: Page) -> str:
    """What a person reads on the page."""
    return page.locator("body").inner_text()


def picture(page: Page, file: Path, below: Locator | None = None) -> None:
    """Keep what is to be seen, or the part of it that is lower than something."""
    file.parent.mkdir(parents=True, exist_ok=True)
    size, box = page.viewport_size, below.bounding_box() if below else None
    assert size
    top = box["y"] + box["height"] if box else 0
    area = {"x": 0, "y": top, "width": size["width"], "height": size["height"] - top}
    page.screenshot(path=file, clip=area, animations="disabled")
