"""The suite against the catalogs that this commit's hash chooses; against all of them: ``make test-services``."""

import pytest

from iceberg_assets_tests.services.run import apart
from iceberg_assets_tests.services.suites import head, picked


@pytest.mark.jvm
@pytest.mark.parametrize("name", picked(head()))
def test_the_catalog_does_all_that_it_is_said_to_do(name: str) -> None:
    assert apart(name).failed == {}
