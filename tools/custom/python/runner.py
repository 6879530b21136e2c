"""Runs one tool, once: it reads the call from descriptor 3, writes what became of it there, and ends.

What the tool prints is its own and is never read as a result. No pickle in either direction.
"""
import fcntl
import json
import linecache
import os
import struct
import sys
import traceback
import types
import typing

MOST = 1_000_000  # characters of a result

pid = os.getpid()
channel = fcntl.fcntl(3, fcntl.F_DUPFD_CLOEXEC, 100)
os.close(3)


def take(size):
    whole = b""
    while len(whole) < size:
        part = os.read(channel, size - len(whole))
        if not part:
            os._exit(0)  # nobody calls any more
        whole += part
    return whole


def give(answer):
    text = json.dumps(answer).encode()
    whole = struct.pack(">I", len(text)) + text
    while whole:
        whole = whole[os.write(channel, whole):]


class Block:
    """A memory block. What is assigned to its value is written back when the tool has returned."""

    def __init__(self, fields):
        self.__dict__.update(fields)

    def __repr__(self):
        return f"Block(label={self.label!r}, value={self.value!r})"


class Memory:
    def __init__(self, blocks):
        self.blocks = [Block(fields) for fields in blocks]

    def get_block(self, label):
        for block in self.blocks:
            if block.label == label:
                return block
        raise KeyError(f"Block field {label} does not exist (available sections = {', '.join(self.list_block_labels())})")

    def get_blocks(self):
        return self.blocks

    def list_block_labels(self):
        return [block.label for block in self.blocks]

    def update_block_value(self, label, value):
        if not isinstance(value, str):
            raise ValueError("Provided value must be a string")
        self.get_block(label).value = value


def state_of(fields):
    state = types.SimpleNamespace(**{name: value for name, value in fields.items() if name != "blocks"})
    state.memory = Memory(fields["blocks"])
    state.blocks = state.memory.blocks
    return state


def changed(state, fields):
    """The values of blocks that are others than before."""
    before = {block["label"]: block["value"] for block in fields["blocks"]}
    return {
        block.label: block.value
        for block in state.memory.blocks
        if isinstance(block.value, str) and before.get(block.label) != block.value
    }


def fitted(hint, value):
    """A value of JSON as what the annotation of its parameter names, as far as that is plain."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if value is None or hint is typing.Any:
        return value
    if origin in (typing.Union, getattr(types, "UnionType", typing.Union)):
        kinds = [kind for kind in inner if kind is not type(None)]
        return fitted(kinds[0], value) if len(kinds) == 1 else value
    if origin is list and inner and isinstance(value, list):
        return [fitted(inner[0], one) for one in value]
    if (origin or hint) in (set, frozenset, tuple) and isinstance(value, list):
        return (origin or hint)(value)
    if hint is bytes and isinstance(value, str):
        return value.encode()
    if isinstance(hint, type) and not isinstance(value, hint):
        import enum
        if isinstance(value, dict) and hasattr(hint, "model_validate"):
            return hint.model_validate(value)
        if isinstance(value, dict) and hasattr(hint, "__dataclass_fields__"):
            return hint(**value)
        if issubclass(hint, enum.Enum):
            return hint(value)
        if hint is float and type(value) is int:
            return float(value)
    return value


def plain(notes):
    """What json.dumps asks about values that JSON can't hold."""

    def of(value):
        if hasattr(value, "model_dump"):
            return value.model_dump()
        if hasattr(value, "__dataclass_fields__") and not isinstance(value, type):
            return {name: getattr(value, name) for name in value.__dataclass_fields__}
        notes.add(type(value).__name__)
        return str(value)

    return of


def text_of(value):
    """The text of a result, and what has to be said about it."""
    if isinstance(value, str):
        text, notes = value, set()
    elif value is None or isinstance(value, (bool, int, float)):
        text, notes = str(value), set()
    else:
        notes = set()
        try:
            text = json.dumps(value, ensure_ascii=False, allow_nan=False, default=plain(notes))
        except (TypeError, ValueError, RecursionError):
            text, notes = str(value), {type(value).__name__}
        else:
            if notes and text[:1] == '"':  # nothing but a text
                text = str(value)
    note = ""
    if notes:
        names = ", ".join(sorted(notes)[:5])
        note = f"JSON can't hold a value of type {names}, so it is shown as text."
    if len(text) > MOST:
        note = (note + f" The result has {len(text)} characters; the first {MOST} are here.").strip()
        text = text[:MOST]
    return text, note


def call(request):
    os.environ.update(request["env"])
    source, name = request["source"], request["tool"] + ".py"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    module = types.ModuleType("tool")
    module.__file__ = name
    sys.modules["tool"] = module
    if not request["function"]:
        return whole(source, name, module.__dict__)
    exec(compile(source, name, "exec", dont_inherit=True), module.__dict__)
    function = module.__dict__[request["function"]]
    given = request["arguments"]
    try:
        hints = typing.get_type_hints(function)
    except Exception:  # a name that is known to nobody describes nothing
        hints = {}
    given = {name: fitted(hints.get(name, typing.Any), value) for name, value in given.items()}
    first = [None] if request["self"] else []
    for name in request["positional"]:
        if name not in given:
            break
        first.append(given.pop(name))
    state = None
    if request["state"] is not None:
        state = given["agent_state"] = state_of(request["state"])
    value = function(*first, **given)
    if hasattr(value, "__await__"):
        import asyncio

        async def wait():
            return await value

        value = asyncio.run(wait())
    text, note = text_of(value)
    blocks = {} if state is None else changed(state, request["state"])
    return {"text": text, "note": note, "blocks": blocks}


def whole(source, name, names):
    """Runs a program; what its last line says, if that is an expression, is its result."""
    import ast
    names["__name__"] = "__main__"
    tree = ast.parse(source, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec", dont_inherit=True), names)
    if last is None:
        return {"text": "", "note": "", "blocks": {}}
    value = eval(compile(ast.Expression(last.value), name, "eval", dont_inherit=True), names)
    text, note = ("", "") if value is None else text_of(value)
    return {"text": text, "note": note, "blocks": {}}


def show(packages):
    """Lets imports find a tool's own packages, behind the language's and before the machine's."""
    theirs = (i for i, path in enumerate(sys.path) if path.endswith(("site-packages", "dist-packages")))
    sys.path.insert(next(theirs, len(sys.path)), packages)


def main():
    if len(sys.argv) > 1:
        show(sys.argv.pop())
    sys.stdout.reconfigure(line_buffering=True, errors="replace")
    sys.stderr.reconfigure(errors="replace")
    request = json.loads(take(struct.unpack(">I", take(4))[0]))
    try:
        answer = call(request)
    except BaseException as error:  # a tool that exits has failed, too
        try:
            said = str(error)
        except Exception:
            said = ""
        answer = {"failed": {"class": type(error).__name__, "text": said[:MOST]}}
        try:
            frames = error.__traceback__
            while frames and frames.tb_frame.f_code.co_filename in ("<string>", "<frozen runpy>"):
                frames = frames.tb_next
            traceback.print_exception(type(error), error, frames)
        except BaseException:
            pass
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass
    if os.getpid() == pid:  # what the tool forked has no say
        give(answer)
    os._exit(0)


main()
