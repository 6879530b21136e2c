#!/usr/bin/env python3
# -*- coding: utf-8 -*-
"""A module that says def fake(x: int): in its docstring."""
try:
    from typing import Literal as L
except ImportError:
    L = None

if True:
    def inside_if(x): ...

x = 1; import os; y = "def faker(): pass"
text = """
def not_a_function(a: int):
    '''Args:
        a: A.'''
"""
f1 = f"{'}' + f'{1:{2}}'!r:>{10}} {{def}} {x=}"
f2 = rf'\{x}{ {"a": 1}["a"] }\N'
f3 = f'''{
    x  # a comment with a " in it
}'''
b = b'\'' rb"\"" B"""'"""
continued = 1 + \
    2
matrix = a @ b if (c := 3) else -1_000.5e-3j


@decorator(lambda a, b=(1, "):"): {a: b}, key="@\"")
@other
def outer(a, /, b: int = lambda x, y=1: {x: y}, *args: "int", c: dict[str, int] = {"a": 1, **{}}, d: L["x", 'y,)'] = "x", **kw: int) -> {
    "a": 1
}:
    # a comment first
    def inner(z):
        """Args:
            z: Z."""
        return z
    match a:
        case {"x": [1, *_]} if a: pass
        case _:
            pass
    try:
        pass
    except* ValueError:
        pass
    return [i for i in range(3) if i] if a else (yield)


class K(metaclass=type):
    def method(self): "no tool"
    async def method2(self, x: int): pass
    y: int; z: str = ""
    class L2: a: int


async def wait(seconds: int): "Wait.\n\n    Args:\n        seconds: How \u006cong\x21."; return 1


def grün(ﬁsh: int, größe: str = "x" 'y' """z"""):
	"""Färbt\ttabs.

	Parameters
	----------
	ﬁsh : int
	    Not this one.
	fish, more : int
	    A fish,
	    as NFKC has it.

	größe : str
	    Größe.

	Returns
	-------
	str
	    Nothing.
	"""
	return 1
def no_newline_at_end(): return (1,
  2)
