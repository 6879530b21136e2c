from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import ClassVar, Generic, NamedTuple, NotRequired, Optional, Required, TypedDict, TypeVar

import pydantic
from pydantic import BaseModel, Field as F

T = TypeVar("T")


class Base(pydantic.BaseModel):
    id: int = F(..., description="Its number.")
    kind: str = F("plain", description="Overridden below.")


class Item(Base, Generic[T]):
    """An item.

    Attributes:
        name: Its name.
        kind: Its kind, required here.
    """

    model_config = {"extra": "forbid"}
    limit: ClassVar[int] = 3
    _secret: int = 0
    name: str
    kind: str = F(description="Its kind.")
    tags: list[str] = F(default_factory=list, description="Its " "tags.")
    price: Optional[float] = None
    """What it costs."""
    inner: Item.Inner | None = F(None, description="What is in it.")

    class Inner(BaseModel):
        depth: int = F(ge=0, description="How deep.")

        def validate_depth(cls, v: int) -> int:
            """No tool."""
            return v

    @pydantic.field_validator("name")
    @classmethod
    def strip(cls, v: str) -> str:
        return v.strip()


@dataclasses.dataclass(frozen=True)
class Line:
    text: str
    amount: int = 1
    notes: list[str] = field(default_factory=list)
    hidden: int = field(repr=False)


class Person(TypedDict, total=False):
    name: Required[str]
    age: int


class Place(TypedDict):
    city: str
    code: NotRequired[str]


class Point(NamedTuple):
    x: float
    y: float = 0.0


class Name(str):
    pass


def order(item: Item[int], line: Line, person: Person, place: Place, at: Point, by: Name, *rest: int, key: str = "k", **more):
    """
    Order an item.

    :param item: The item,
        in one piece.
    :param line: The line.
    :param Person person: Who.
    :param place: Where.
    :param at: The point.
    :param by: By whom.
    :param key: A key.
    :returns: nothing
    """
