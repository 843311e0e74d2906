"""Files that are not Parquet, moved out of the way and back. No JVM."""

from pathlib import Path

import pytest

from iceberg_assets.errors import ConfigurationError, SourceError
from iceberg_assets.profiles import Profile
from iceberg_assets.tables.quarantine import quarantine, quarantined, restore
from iceberg_assets.tables.source import landed
from iceberg_assets_tests.tables.helpers import D1, Feed, make_feed


def test_a_file_is_moved_listed_and_restored_with_its_content(feed: Feed) -> None:
    path = feed.land(D1, "a", [1])
    content = path.read_bytes()
    moved = quarantine(feed.spec, str(path))
    assert moved == feed.raw / "_quarantine" / D1.isoformat() / "a.parquet"
    assert (path.exists(), quarantined(feed.spec), landed(feed.spec, D1)) == (False, (moved,), ())
    assert restore(feed.spec, moved) == path
    assert (path.read_bytes(), quarantined(feed.spec)) == (content, ())


def test_no_file_is_ever_overwritten(feed: Feed) -> None:
    moved = quarantine(feed.spec, str(feed.land(D1, "a", [1])))
    again = feed.land(D1, "a", [2])
    before = moved.read_bytes(), again.read_bytes()
    with pytest.raises(SourceError, match="is there already; move that away first"):
        quarantine(feed.spec, str(again))
    with pytest.raises(SourceError, match="is there already"):
        restore(feed.spec, moved)
    assert (moved.read_bytes(), again.read_bytes()) == before


def test_a_quarantine_that_cannot_be_made_leaves_the_file_and_says_so(feed: Feed) -> None:
    path = feed.land(D1, "a", [1])
    (feed.raw / "_quarantine").write_text("in its place")
    with pytest.raises(SourceError, match=r"a\.parquet cannot be moved: .*_quarantine"):
        quarantine(feed.spec, str(path))
    assert path.exists()


def test_what_is_not_in_quarantine_is_not_moved(feed: Feed) -> None:
    path = feed.land(D1, "a", [1])
    with pytest.raises(SourceError, match="is not in the quarantine"):
        restore(feed.spec, path)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ({"still_for": "0s"}, "still_for: expected at least 1s"),
        ({"path": "s3://bucket/%Y-%m-%d/*.parquet"}, "needs a file system with rename"),
    ],
)
def test_quarantine_where_it_would_do_harm_is_refused_when_loaded(
    profile: Profile, tmp_path: Path, source: dict[str, str], said: str
) -> None:
    with pytest.raises(ConfigurationError, match=said):
        make_feed(
            profile, tmp_path, "a.b", source={"path": f"{tmp_path}/%Y-%m-%d/*", "bad_files": "quarantine", **source}
        )
