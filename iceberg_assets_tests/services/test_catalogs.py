"""The suites that this commit's hash chooses, on their real services; all of them: ``make test-services``."""

import pytest

from iceberg_assets_tests.services.run import apart
from iceberg_assets_tests.services.suites import head, picked


@pytest.mark.jvm
@pytest.mark.parametrize("name", picked(head()))
def test_the_suite_comes_to_what_the_page_says(name: str) -> None:
    assert apart(name).failed == {}
