"""Whether one place holds another, however the two are spelled."""

from pathlib import Path

import pytest

from iceberg_assets.profiles import inside, overlap


@pytest.mark.parametrize(
    ("inner", "outer"),
    [
        ("file:/wh/db/t/data/inner", "file:///wh/db/t"),
        ("/wh/db/t", "file:/wh/db/t/"),
        ("s3a://lake/wh/t/x", "s3://lake/wh/t"),
        ("s3://lake/wh/t", "s3n://lake/"),
        ("s3a:/lake/wh/t/x", "s3://lake/wh/t"),
        ("/wh/a#b/raw", "file:///wh/a#b"),
        ("/wh/a b/raw", "file:///wh/a%20b"),
    ],
)
def test_one_place_in_two_spellings_is_one_place(inner, outer):
    assert inside(inner, outer)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("file:/wh/db/t2", "file:/wh/db/t"),
        ("/lake/t", "s3://lake/t"),
        ("s3://lake2/t", "s3://lake/t"),
        ("s3://lake/wh/db/t_old", "s3://lake/wh/db/t"),
    ],
)
def test_a_prefix_of_a_name_is_not_a_folder(one, other):
    assert not inside(one, other)
    assert not inside(other, one)


def test_a_place_behind_a_symbolic_link_is_the_place_that_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "wh").mkdir()
    (tmp_path / "link").symlink_to("wh")
    assert inside(f"{tmp_path}/link/t", f"file://{tmp_path}/wh")
    assert overlap(["/elsewhere", str(tmp_path / "wh")], [f"{tmp_path}/link/t"]), "either way round"
    assert not overlap(["/elsewhere"], [f"{tmp_path}/link"])
