"""docs/profiles.md says of each key what the engines are really told."""

from iceberg_assets_tests.profiles.page import PAGE, page


def test_the_page_is_as_the_profiles_are() -> None:
    assert PAGE.read_text() == page(), "python -m iceberg_assets_tests.profiles.page"
