"""What belongs together by a key."""

from hypothesis import given
from hypothesis import strategies as st

from turbotui.quantities.by_key import lists_by_key, sets_by_key, sums_by_key

PAIRS = st.lists(st.tuples(st.integers(0, 4), st.integers(-1_000, 1_000)))


@given(PAIRS)
def test_each_key_has_its_values_in_their_order(pairs: list[tuple[int, int]]) -> None:
    lists = lists_by_key(iter(pairs))
    assert list(lists) == list(dict.fromkeys(key for key, _value in pairs))
    assert all(values == [value for key, value in pairs if key == own] for own, values in lists.items())


@given(PAIRS)
def test_sets_and_sums_are_of_the_values_of_the_lists(pairs: list[tuple[int, int]]) -> None:
    lists = lists_by_key(pairs)
    assert sets_by_key(pairs) == {key: set(values) for key, values in lists.items()}
    assert sums_by_key(pairs) == {key: sum(values) for key, values in lists.items()}
    assert list(sets_by_key(pairs)) == list(sums_by_key(pairs)) == list(lists)


def test_fractions_are_added_in_the_order_of_the_pairs() -> None:
    parts = [0.1, 0.2, 0.3]
    assert sums_by_key(("a", part) for part in parts) == {"a": 0.1 + 0.2 + 0.3}
