from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iceberg_assets.spec.units import format_age, format_bytes, parse_age, parse_bytes, parse_moment


@pytest.mark.parametrize(
    ("text", "size"),
    [("128MB", 134217728), ("1.5 kb", 1536), ("512 MB", 536870912), ("7", 7), (7, 7), ("2TB", 2 << 40)],
)
def test_a_size_is_read_with_icebergs_megabyte(text, size):
    assert parse_bytes(text) == size


@pytest.mark.parametrize("text", ["-1MB", "12 parsecs", "", None, True, -3, 1.5])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(ValueError, match="expected a size such as 128MB"):
        parse_bytes(text)


@pytest.mark.parametrize(
    ("text", "age"),
    [
        ("15m", timedelta(minutes=15)),
        ("5d", timedelta(days=5)),
        ("0s", timedelta()),
        ("250ms", timedelta(milliseconds=250)),
    ],
)
def test_an_age_is_read(text, age):
    assert parse_age(text) == age


@pytest.mark.parametrize("text", ["5", 5, "-5d", "5 fortnights", None])
def test_what_is_no_age_is_refused(text):
    with pytest.raises(ValueError, match="expected an age such as 15m"):
        parse_age(text)


@pytest.mark.parametrize(
    ("read", "text"),
    [(parse_bytes, "99999999TB"), (parse_bytes, 1 << 63), (parse_age, "99999999999d"), (parse_age, "40000d")],
)
def test_what_the_engine_or_the_calendar_has_no_room_for_is_refused(read, text):
    with pytest.raises(ValueError, match=r"at most|expected a size"):
        read(text)


def test_a_moment_before_all_years_is_refused():
    with pytest.raises(ValueError, match="got '0001-01-01"):
        parse_moment("0001-01-01T00:00:00+09:00")


@given(st.integers(min_value=0, max_value=10**12))
def test_a_printed_age_is_read_back_as_it_was(milliseconds):
    age = timedelta(milliseconds=milliseconds)
    assert parse_age(format_age(age)) == age


def test_a_size_is_printed_for_people():
    assert [format_bytes(n) for n in (0, 1023, 1536, 5 * 1024**2)] == ["0 B", "1023 B", "1.5 kB", "5.0 MB"]
