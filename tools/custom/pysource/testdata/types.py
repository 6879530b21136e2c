import datetime as dt
import typing as t
from collections.abc import Sequence
from enum import Enum, IntEnum, StrEnum, auto
from typing import Annotated, Literal, NewType, Optional as Maybe
from uuid import UUID

UserID = NewType("UserID", int)
Level = Literal["low", "high"]
type Pair = tuple[int, str]
Rows: t.TypeAlias = list[dict[str, float]]


class Colour(Enum):
    """What paint there is."""

    RED = "red"
    GREEN = ("green",)

    @property
    def warm(self):
        return self is Colour.RED


class Size(IntEnum):
    S = 1
    L = 1_0


class Way(StrEnum):
    NORTH = auto()
    SOUTH = auto()


def everything(
    a: "str",
    b: Maybe[int],
    c: t.Union[int, str, None],
    d: int | float,
    e: Level,
    f: Literal["a,b)", -1, None],
    g: Colour,
    h: Size,
    i: Way,
    j: UserID,
    k: "Pair",
    l: Rows,
    m: Annotated[int, "counted"],
    n: Sequence["list[int]"],
    o: tuple[int, ...],
    p: set,
    q: dict[str, t.Any],
    r: dt.datetime,
    s: UUID,
    u: Literal[Colour.RED, Colour.GREEN],
    v: t.Final[bool] = None,
    w: bytes = b"\x00",
):
    """Takes everything.

    Args:
        a: A. b: no parameter.
        b, c (int, optional): Both.
        d (:obj:`int`): D: with a colon
        e: E
            goes on:
              - deeper
        f: F
        g: G
        h: H
        i: I
        j: J
        k: K
        l: L
        n: N
        o: O
        p: P
        q: Q
        r: R
        s: S
        u: U
        v: V
        w: W

    """
