"""``make screenshots``: what the UI shows after ``make demo``, for README.md and docs/ui.md."""

import shutil
from pathlib import Path

from playwright.sync_api import Page

from demo.run import HOME, ROOT, environment
from iceberg_assets_tests.daemon import browser
from iceberg_assets_tests.daemon.deployment import Deployment, free_ports

IMAGES = ROOT / "docs" / "images"
TABLE, LOCATION = "demo/flights", "iceberg_assets"


def main() -> None:
    """Take them."""
    if not HOME.is_dir():
        raise SystemExit("there is nothing to take pictures of: run `make demo` first")
    environment()
    deployment = Deployment(HOME.parent, LOCATION, *free_ports(2))
    shutil.copy(ROOT / "workspace.yaml", deployment.root)
    try:
        deployment.start("web")
        with browser.opened(deployment.url) as page:
            take(page, IMAGES)
    finally:
        deployment.kill("web")


def take(page: Page, folder: Path) -> None:
    """A picture of each page that the tests read; without the rows that name folders of this machine."""
    browser.plots(page, TABLE)
    page.get_by_text("iceberg/data_files", exact=True).scroll_into_view_if_needed()
    browser.picture(page, folder / "plots.png")

    browser.check(page, TABLE, "small_files")
    browser.picture(page, folder / "check.png")

    browser.partitions(page, f"{TABLE}/compacted", "2013-01-07")
    page.get_by_text("iceberg/reason", exact=True).evaluate("row => row.scrollIntoView({block: 'start'})")
    browser.picture(page, folder / "partition.png")

    browser.reason(page, LOCATION, "iceberg_compaction")
    browser.picture(page, folder / "tick.png", below=page.get_by_text("Cursor", exact=True).first)


if __name__ == "__main__":
    main()
