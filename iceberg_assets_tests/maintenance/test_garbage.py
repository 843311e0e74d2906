"""Whose files lie among whose, however the places are spelled."""

import pytest

from iceberg_assets.maintenance.garbage import _inside


@pytest.mark.parametrize(
    ("inner", "outer"),
    [
        ("file:/wh/db/t/data/inner", "file:///wh/db/t"),
        ("/wh/db/t", "file:/wh/db/t/"),
        ("s3a://lake/wh/t/x", "s3://lake/wh/t"),
        ("s3://lake/wh/t", "s3n://lake/"),
    ],
)
def test_one_place_in_two_spellings_is_one_place(inner, outer):
    assert _inside(inner, outer)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("file:/wh/db/t2", "file:/wh/db/t"),
        ("s3://lake2/t", "s3://lake/t"),
        ("s3://lake/wh/db/t_old", "s3://lake/wh/db/t"),
    ],
)
def test_a_prefix_of_a_name_is_not_a_folder(one, other):
    assert not _inside(one, other)
    assert not _inside(other, one)
