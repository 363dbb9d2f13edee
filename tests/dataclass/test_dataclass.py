"""`turbotui.dataclass` makes the same classes as the standard library, and compiles methods only when called."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable, Mapping
from dataclasses import FrozenInstanceError, field
from typing import Any, ClassVar, Generic, TypeVar

import pytest

from turbotui.dataclass import copier, dataclass

R = TypeVar("R")
Maker = Callable[..., Callable[[type], type]]


def _standard(**words: bool) -> Callable[[type], type]:
    return dataclasses.dataclass(**words)


def _classes(make: Maker) -> dict[str, Any]:
    """One class of each shape that the project has."""

    @make(frozen=True, slots=True)
    class Plain:
        a: int
        b: str = "b"
        c: Mapping[str, int] = field(default_factory=dict, hash=False)
        d: float = field(default=0.5, compare=False, repr=False)
        known: ClassVar[int] = 3

        def both(self) -> str:
            return f"{self.a}{self.b}"

    @make(slots=True)
    class Changing:
        a: int
        seen: list[int] = field(default_factory=list)
        count: int = field(default=4, init=False)

    @make(frozen=True)
    class Base(Generic[R]):
        id: str
        unit: str = ""

        def __post_init__(self) -> None:
            object.__setattr__(self, "unit", self.unit or "W")

    @make(frozen=True, kw_only=True)
    class Below(Base[int]):
        needs: tuple[str, ...]
        id: str = "below"

    @make(frozen=True, slots=True, eq=False)
    class Same:
        a: int

    @make(frozen=True, slots=True)
    class Longer(Plain):
        e: int = 5

    @make(frozen=True, slots=True)
    class Named:
        a: int

        def __repr__(self) -> str:
            return "named"

        def __hash__(self) -> int:
            return 7

    return {"Plain": Plain, "Changing": Changing, "Base": Base, "Below": Below, "Same": Same, "Longer": Longer,
            "Named": Named}


OURS, THEIRS = _classes(dataclass), _classes(_standard)

MADE = [
    ("Plain", (1,), {}), ("Plain", (1, "x", {"k": 2}, 2.0), {}), ("Plain", (), {"b": "y", "a": 3}),
    ("Changing", (1,), {}), ("Changing", (1, [2]), {}), ("Base", ("id",), {}), ("Base", ("id", "V"), {}),
    ("Below", (), {"needs": ("a",)}), ("Below", ("V",), {"needs": (), "id": "x"}), ("Longer", (1,), {"e": 6}),
    ("Named", (1,), {}),
]
"""Name of the class, and what it is made with."""


@pytest.mark.parametrize("often", [0, 40])
@pytest.mark.parametrize(("name", "given", "named"), MADE)
def test_an_instance_is_what_the_standard_library_makes(name: str, given: Any, named: Any, often: int) -> None:
    kinds = _classes(dataclass)
    for _ in range(often):  # until its methods are compiled
        kinds[name](*given, **named)
    _is_as_theirs(kinds, name, given, named)


def _is_as_theirs(kinds: Mapping[str, Any], name: str, given: Any, named: Any) -> None:
    ours, theirs = kinds[name](*given, **named), THEIRS[name](*given, **named)
    assert repr(ours) == repr(theirs)
    assert dataclasses.asdict(ours) == dataclasses.asdict(theirs)
    assert ours == kinds[name](*given, **named)
    assert ours != theirs
    assert (type(ours).__hash__ is None) == (type(theirs).__hash__ is None)
    if type(ours).__hash__ is not None:
        assert hash(ours) == hash(theirs)
    assert hasattr(ours, "__dict__") == hasattr(theirs, "__dict__")
    assert type(ours).__match_args__ == type(theirs).__match_args__
    assert copy.copy(ours) == ours
    assert copy.deepcopy(ours) == ours


@pytest.mark.parametrize("name", list(OURS))
def test_the_class_is_what_the_standard_library_makes(name: str) -> None:
    def facts(cls: Any) -> list[Any]:
        return [(item.name, item.type, item.default, item.init, item.kw_only, item.compare)
                for item in dataclasses.fields(cls)]

    ours, theirs = OURS[name], THEIRS[name]
    assert dataclasses.is_dataclass(OURS[name])
    assert facts(ours) == facts(theirs)
    assert getattr(ours, "__slots__", None) == getattr(theirs, "__slots__", None)
    assert (ours.__name__, ours.__doc__ or "", ours.__module__) == (name, ours.__doc__ or "", __name__)


def test_what_is_frozen_cannot_be_changed() -> None:
    for name, given in (("Plain", (1,)), ("Base", ("id",)), ("Longer", (1,))):
        item = OURS[name](*given)
        first = dataclasses.fields(item)[0].name
        with pytest.raises(FrozenInstanceError, match=f"cannot assign to field '{first}'"):
            setattr(item, first, 2)
        with pytest.raises(FrozenInstanceError, match=f"cannot delete field '{first}'"):
            delattr(item, first)
    changing = OURS["Changing"](1)
    changing.a = 2
    assert changing.a == 2


def test_a_class_below_a_frozen_one_may_have_attributes_of_its_own() -> None:
    below: Any = type("Keeps", (OURS["Base"],), {})
    item = below("id")
    item.verdict = 1
    assert item.verdict == 1
    with pytest.raises(FrozenInstanceError):
        item.id = "other"


def test_replace_takes_the_rest_from_what_was_there() -> None:
    item = OURS["Plain"](1, "x", {"k": 2})
    other: Any = dataclasses.replace(item, a=2)
    assert (other.a, other.b, other.c) == (2, "x", {"k": 2})
    assert item != other


def test_each_instance_has_its_own_list() -> None:
    item, other = OURS["Changing"](1), OURS["Changing"](1)
    item.seen.append(1)
    assert other.seen == []


def test_same_is_only_itself() -> None:
    assert OURS["Same"](1) != OURS["Same"](1)
    assert len({OURS["Same"](1), OURS["Same"](1)}) == 2


@pytest.mark.parametrize("words", [{}, {"a": 1, "z": 2}, {"a": 1, "known": 3}])
def test_wrong_words_are_refused_by_name(words: dict[str, int]) -> None:
    def refused(cls: Any) -> str:
        with pytest.raises(TypeError) as info:
            cls(**words)
        return str(info.value)

    for ours in (_classes(dataclass)["Plain"], OURS["Plain"]):  # before its methods are compiled, and after
        assert refused(ours).rpartition(".")[2] == refused(THEIRS["Plain"]).rpartition(".")[2]


@pytest.mark.parametrize(("name", "given", "named"), [
    ("Changing", (1,), {"count": 3}), ("Changing", (1, [], 3), {}), ("Below", ("V", "W", ("a",)), {}),
    ("Below", ("V", "W", ("a",)), {"needs": ()})])
def test_what_a_field_does_not_take_is_refused(name: str, given: Any, named: Any) -> None:
    for cls in (_classes(dataclass)[name], OURS[name], THEIRS[name]):
        with pytest.raises(TypeError, match="__init__"):
            cls(*given, **named)


@pytest.mark.parametrize(("given", "named"), [
    ((1, "x", {}, 2.0, 5), {}), ((1,), {"a": 2}), ((), {"b": "x"}), ((1,), {"e": 3}), ((1, "x"), {"b": "y"})])
def test_wrong_arguments_are_refused_before_anything_is_made(given: Any, named: Any) -> None:
    made: list[object] = []

    @dataclass(frozen=True, slots=True)
    class Plain:
        a: int
        b: str = "b"
        c: object = field(default_factory=lambda: made.append(1))
        d: float = 0.5

    with pytest.raises(TypeError, match="__init__"):
        Plain(*given, **named)
    assert not made


def test_either_kind_inherits_from_the_other() -> None:
    @dataclasses.dataclass(frozen=True)
    class Above:
        a: int

    @dataclass(frozen=True)
    class Middle(Above):
        b: int = 2

    @dataclasses.dataclass(frozen=True)
    class Last(Middle):
        c: int = 3

    assert repr(Last(1)).endswith("Last(a=1, b=2, c=3)")
    assert Middle(1) == Middle(1, 2)
    with pytest.raises(TypeError, match="non-frozen"):

        @dataclasses.dataclass
        class Loose(Middle):  # type: ignore[misc]
            d: int = 4


def test_a_default_that_instances_would_share_is_refused() -> None:
    with pytest.raises(ValueError, match="use default_factory"):

        @dataclass()
        class Shared:
            a: list[int] = []  # noqa: RUF012 - as said


def test_slots_twice_are_refused() -> None:
    with pytest.raises(TypeError, match="already specifies __slots__"):

        @dataclass(slots=True)
        class Twice:  # type: ignore[misc]
            __slots__ = ("a",)
            a: int


@dataclass(frozen=True, slots=True)
class Sent:
    """A class that pickle finds by its name."""

    a: int
    b: tuple[int, ...] = ()


def test_what_is_frozen_with_slots_can_be_pickled() -> None:
    assert pickle.loads(pickle.dumps(Sent(1, (2,)))) == Sent(1, (2,))  # noqa: S301 - written in this line


def test_a_method_is_compiled_when_it_is_first_called() -> None:
    @dataclass(frozen=True, slots=True)
    class Unused:
        a: int

    first: Any = Unused.__init__
    item = Unused(1)
    compiled = Unused.__init__
    assert compiled is not first
    assert Unused(2) != item
    assert Unused.__init__ is compiled
    first(item, 3)  # a thread that was on its way to the first call
    assert item.a == 3


def test_a_copy_with_other_values_is_what_replace_makes() -> None:
    sent = Sent(1, (2,))
    copied = copier(Sent, "b")(sent, (3,))
    assert copied == dataclasses.replace(sent, b=(3,))
    assert (type(copied), hash(copied), sent.b) == (Sent, hash(Sent(1, (3,))), (2,))
    with pytest.raises(FrozenInstanceError):
        copied.a = 2
    assert copier(Sent)(sent) == sent
