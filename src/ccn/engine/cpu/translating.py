"""From functions over numbers at addresses, arrays and named tuples of them, to the code of LLVM.

The functions are Python, of which they use a part: integers, booleans and floating-point numbers in local variables;
arrays, their elements and shapes; named tuples of integers, arrays and named tuples; ``if``, ``while``, ``for`` over a
range, calls of each other. A local variable keeps the type that it is given first. Integers have 64 bits and do not
overflow; ``//`` and ``%`` are of integers that are not negative. What else is met is an error with its place.

What is known when a function is translated is worked out then, by Python: constants, arguments that are :class:`Known`,
and what follows from them. An ``if`` whose condition is known becomes one of its branches, and a loop over a known
range is written down round by round. Lists are known too: their elements may be numbers that are not, of which a
comprehension makes as many. A name that is given a value in one place alone stands for what is known of it.
"""

from __future__ import annotations

import ast
import inspect
import operator
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, NoReturn

import numpy as np
from llvmlite import ir

__all__ = [
    "BOOL",
    "FUSED",
    "INT",
    "Argument",
    "Array",
    "Emitted",
    "Function",
    "Kind",
    "Known",
    "Struct",
    "Value",
    "array",
    "entry",
    "struct",
]

INT, BOOL, FLOAT = np.dtype(np.int64), np.dtype(np.bool_), np.dtype(np.float64)
_WORD = ir.IntType(64)
FUSED = ("contract",)  # a product and a sum may become one instruction


@dataclass(frozen=True, eq=False)
class Array:
    """An array with its elements in the order of C: a value is where its address and its shape are written."""

    dtype: np.dtype[Any]
    axes: int

    @property
    def words(self) -> int:
        """How many integers describe one."""
        return 1 + self.axes


@dataclass(frozen=True, eq=False)
class Struct:
    """A named tuple: a value is where its fields are written, one after another, each with its place and kind."""

    name: str
    fields: dict[str, tuple[int, Kind]]
    words: int


@dataclass(frozen=True)
class Known:
    """A value that is known when code is made, which it is worked into; ``name`` stands for it."""

    value: Any = field(compare=False)
    name: str


Kind = np.dtype[Any] | Array | Struct
"""The type of a value: numbers have NumPy's."""
Argument = Kind | Known
"""What code is made for: the type of an argument, or its value."""


@cache
def array(dtype: np.dtype[Any], axes: int) -> Array:
    """The one kind of such arrays."""
    return Array(dtype, axes)


@cache
def struct(of: type, kinds: tuple[Kind, ...]) -> Struct:
    """The one kind of such named tuples."""
    at, fields = 0, {}
    for name, kind in zip(of._fields, kinds, strict=True):  # type: ignore[attr-defined]
        fields[name] = at, kind
        at += 1 if isinstance(kind, np.dtype) else kind.words
    return Struct(of.__name__, fields, at)


@dataclass(frozen=True)
class Value:
    """A number, or the address of what describes an array or a named tuple, as LLVM's code."""

    kind: Kind
    code: Any


_KINDS: dict[str, np.dtype[Any]] = {
    "i64": INT,
    "i8": np.dtype(np.uint8),
    "float": np.dtype(np.float32),
    "double": FLOAT,
}


def _type(kind: Kind) -> Any:
    """LLVM's type of values of a kind."""
    if not isinstance(kind, np.dtype) or kind == INT:
        return _WORD
    if kind.kind == "f":
        return ir.FloatType() if kind.itemsize == 4 else ir.DoubleType()
    return ir.IntType(1 if kind == BOOL else 8 * kind.itemsize)


class Function:
    """A function that is translated for each combination of kinds that it is called with.

    ``inlined``: always into its callers. ``woven``: written down in its caller, once for each call; it may return
    several values, at its end. ``apart``: not with its callers, but once for all of them; it takes integers, booleans
    and floating-point numbers of one kind, as its annotations say, and returns nothing. Other functions return an
    integer or nothing.
    """

    def __init__(
        self, python: Callable[..., Any], *, inlined: bool = False, woven: bool = False, apart: bool = False
    ) -> None:
        self.python, self.inlined, self.woven, self.apart = python, inlined, woven, apart
        self.__doc__, self.__name__, self.__module__ = python.__doc__, python.__name__, python.__module__
        self.__wrapped__ = python

    @cached_property
    def tree(self) -> ast.FunctionDef:
        """What is translated."""
        node = ast.parse(textwrap.dedent(inspect.getsource(self.python))).body[0]
        assert isinstance(node, ast.FunctionDef)
        ast.increment_lineno(node, self.python.__code__.co_firstlineno - 1)
        return node

    @cached_property
    def names(self) -> list[str]:
        """Of its parameters."""
        return [a.arg for a in self.tree.args.args]

    @cached_property
    def parameters(self) -> list[str]:
        """The annotations of its parameters."""
        return [ast.unparse(a.annotation) for a in self.tree.args.args if a.annotation is not None]

    @cached_property
    def written(self) -> Counter[str]:
        """How often each local variable is given a value in its text."""
        stored = (n for n in ast.walk(self.tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
        return Counter(n.id for n in stored)

    @property
    def returns_nothing(self) -> bool:
        """Whether its annotation says so."""
        return self.python.__annotations__.get("return") in (None, "None")

    @cached_property
    def around(self) -> dict[str, Any]:
        """What names outside of it stand for."""
        scope = inspect.getclosurevars(self.python)
        return {**scope.builtins, **self.python.__globals__, **scope.nonlocals}


class Emitted:
    """A function whose code is written down operation by operation, by a function of a builder and LLVM's values.

    It returns an integer of 64 bits or of 8, or a floating-point number, or nothing.
    """

    def __init__(self, write: Callable[..., Any]) -> None:
        self.write = write
        self.__doc__, self.__name__, self.__module__ = write.__doc__, write.__name__, write.__module__


def entry(function: Function, kinds: Sequence[Argument], name: str, module: Any) -> None:
    """Write a function, which returns nothing, into a module under a name by which it can be called.

    It takes an integer of 64 bits for an integer, for a boolean and for the address of what describes an array or a
    named tuple, and floating-point numbers.
    """
    if not function.returns_nothing:
        raise NotImplementedError(f"{function.__module__}.{function.__name__} returns a value: Python cannot call it")
    unknown = [kind for kind in kinds if not isinstance(kind, Known)]
    taken = [_type(kind) if isinstance(kind, np.dtype) and kind.kind == "f" else _WORD for kind in unknown]
    made = ir.Function(module, ir.FunctionType(ir.VoidType(), taken), name)
    made.attributes.add("nounwind")
    builder = ir.IRBuilder(made.append_basic_block())
    codes = iter(made.args)
    given = [
        kind.value
        if isinstance(kind, Known)
        else Value(kind, builder.trunc(next(codes), _type(kind)) if kind == BOOL else next(codes))
        for kind in kinds
    ]
    _Body(function, given, builder, {}).write()
    if not builder.block.is_terminated:
        builder.ret_void()


_ARITHMETIC = {
    ast.Add: ("add", "fadd"),
    ast.Sub: ("sub", "fsub"),
    ast.Mult: ("mul", "fmul"),
    ast.Div: ("", "fdiv"),
    ast.FloorDiv: ("sdiv", ""),
    ast.Mod: ("srem", ""),
    ast.BitAnd: ("and_", ""),
    ast.BitOr: ("or_", ""),
    ast.LShift: ("shl", ""),
    ast.RShift: ("ashr", ""),
}
_FOLDED: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_COMPARED = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}


class _Body(ast.NodeVisitor):
    """One function as it is written down, for arguments of certain kinds."""

    def __init__(self, function: Function, given: Sequence[Any], builder: Any, written: dict[Any, Any]) -> None:
        self.function, self.builder, self.written = function, builder, written
        self.names: dict[str, Value] = {}  # the code of a local variable is where it is kept
        self.known: dict[str, Any] = {}  # parameters and counts of loops that are known now
        self.loops: list[tuple[Any, Any]] = []  # where ``continue`` and ``break`` lead
        self.result: Any = None
        for name, value in zip(function.names, given, strict=True):
            if isinstance(value, Value):
                self._set(name, value)
            else:
                self.known[name] = value

    def write(self) -> Any:
        """All statements; what a woven function returns."""
        self._all(self.function.tree.body)
        return self.result

    def _fail(self, node: ast.AST, what: str) -> NoReturn:
        file, line = inspect.getsourcefile(self.function.python), getattr(node, "lineno", "?")
        raise NotImplementedError(f"{file}:{line}: {what} is not among what kernels are made of")

    def generic_visit(self, node: ast.AST) -> NoReturn:
        self._fail(node, f"{type(node).__name__} ({ast.unparse(node)})")

    # Values

    def _value(self, node: ast.AST) -> Value:
        return self._given(node, self.visit(node))

    def _given(self, node: ast.AST, found: Any) -> Value:
        """A value, or a constant of Python as one."""
        if isinstance(found, Value):
            return found
        if isinstance(found, np.integer):
            found = int(found)
        if not isinstance(found, bool | int | float):
            self._fail(node, f"{ast.unparse(node)} as a number")
        kind = BOOL if isinstance(found, bool) else INT if isinstance(found, int) else FLOAT
        return Value(kind, _type(kind)(found))

    def _as(self, value: Value, kind: Kind, node: ast.AST) -> Value:
        """The same number as one of another kind."""
        if value.kind is kind or value.kind == kind:
            return value
        if not (isinstance(kind, np.dtype) and isinstance(value.kind, np.dtype)):
            self._fail(node, f"{value.kind} in place of {kind}")
        b, to = self.builder, _type(kind)
        if kind == BOOL:
            return Value(kind, self._truth(value))
        if kind.kind == "f":
            if value.kind.kind == "f":
                return Value(kind, (b.fpext if kind.itemsize > value.kind.itemsize else b.fptrunc)(value.code, to))
            return Value(kind, b.sitofp(self._as(value, INT, node).code, to))
        if value.kind.kind == "f":
            self._fail(node, "a number that is not an integer, in place of one,")
        if kind.itemsize < value.kind.itemsize:
            return Value(kind, b.trunc(value.code, to))
        return Value(kind, (b.sext if value.kind.kind == "i" else b.zext)(value.code, to))

    def _int(self, node: ast.AST) -> Any:
        return self._as(self._value(node), INT, node).code

    def _common(self, a: Value, b: Value, node: ast.AST) -> tuple[Value, Value]:
        """Two numbers as numbers of one kind."""
        floats = [v.kind for v in (a, b) if isinstance(v.kind, np.dtype) and v.kind.kind == "f"]
        kind = max(floats, key=lambda k: k.itemsize) if floats else INT
        return self._as(a, kind, node), self._as(b, kind, node)

    def _truth(self, value: Value) -> Any:
        kind = value.kind
        if kind == BOOL:
            return value.code
        zero = value.code.type(0)
        if isinstance(kind, np.dtype) and kind.kind == "f":
            return self.builder.fcmp_unordered("!=", value.code, zero)
        return self.builder.icmp_signed("!=", value.code, zero)

    def visit_Constant(self, node: ast.Constant) -> Any:
        return node.value

    def visit_Name(self, node: ast.Name) -> Any:
        if node.id in self.known:
            return self.known[node.id]
        if node.id in self.names:
            held = self.names[node.id]
            return Value(held.kind, self.builder.load(held.code))
        if node.id not in self.function.around:
            self._fail(node, f"{node.id}, which has no value yet,")
        return self.function.around[node.id]

    def visit_Tuple(self, node: ast.Tuple) -> list[Any]:
        return [self.visit(e) for e in node.elts]

    def visit_List(self, node: ast.List) -> list[Any]:
        found: list[Any] = []
        for e in node.elts:
            found += self.visit(e.value) if isinstance(e, ast.Starred) else [self.visit(e)]
        return found

    def visit_ListComp(self, node: ast.ListComp) -> list[Any]:
        """One value after another, for what is known."""
        (of,), before, found = node.generators, dict(self.known), []
        for item in self.visit(of.iter):
            self._know(of.target, item)
            found.append(self.visit(node.elt))
        self.known = before
        return found

    def _know(self, target: ast.AST, value: Any) -> None:
        if isinstance(target, ast.Tuple):
            for t, v in zip(target.elts, value, strict=True):
                self._know(t, v)
        else:
            assert isinstance(target, ast.Name)
            self.known[target.id] = value

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        of = self.visit(node.value)
        if not isinstance(of, Value):
            return getattr(of, node.attr)
        if isinstance(of.kind, Array) and node.attr == "shape":
            return [Value(INT, self._word(of.code, 1 + axis)) for axis in range(of.kind.axes)]
        if not isinstance(of.kind, Struct) or node.attr not in of.kind.fields:
            self._fail(node, ast.unparse(node))
        at, kind = of.kind.fields[node.attr]
        if isinstance(kind, np.dtype):
            return Value(kind, self._word(of.code, at))
        return Value(kind, self.builder.add(of.code, _WORD(8 * at)))

    def _word(self, address: Any, place: int) -> Any:
        """One of the integers that describe an array or a named tuple, which do not change."""
        b = self.builder
        found = b.load(b.inttoptr(b.add(address, _WORD(8 * place)), _WORD.as_pointer()))
        found.set_metadata("invariant.load", b.module.add_metadata([]))
        return found

    def _element(self, node: ast.Subscript) -> tuple[np.dtype[Any], Any]:
        """Kind and pointer of an element of an array."""
        of = self._value(node.value)
        index = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if not isinstance(of.kind, Array) or len(index) != of.kind.axes:
            self._fail(node, ast.unparse(node))
        b, place = self.builder, self._int(index[0])
        for axis, i in enumerate(index[1:], 1):
            place = b.add(b.mul(place, self._word(of.code, 1 + axis)), self._int(i))
        first = b.inttoptr(self._word(of.code, 0), _type(of.kind.dtype).as_pointer())
        return of.kind.dtype, b.gep(first, [place])

    def visit_Slice(self, node: ast.Slice) -> slice:
        return slice(*(None if x is None else self.visit(x) for x in (node.lower, node.upper, node.step)))

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        of = self.visit(node.value)
        if isinstance(of, np.ndarray):
            at = self.visit(node.slice)
            found = of[tuple(at) if isinstance(at, list) else at]
            return found.item() if isinstance(found, np.integer) else found
        if isinstance(of, tuple | list):  # of constants, or a shape
            at = self.visit(node.slice)
            if isinstance(at, int | slice):
                return of[at]
            *rest, found = (self._given(node, x) for x in of)
            for i, x in reversed(list(enumerate(rest))):
                here = self.builder.icmp_signed("==", at.code, _WORD(i))
                found = Value(INT, self.builder.select(here, x.code, found.code))
            return found
        kind, pointer = self._element(node)
        found = Value(kind, self.builder.load(pointer))
        return found if kind.kind == "f" else self._as(found, INT, node)

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        return self._operate(node, node.op, self.visit(node.left), self.visit(node.right))

    def _operate(self, node: ast.AST, op: ast.operator, left: Any, right: Any) -> Any:
        if not isinstance(left, Value) and not isinstance(right, Value):
            return _FOLDED[type(op)](left, right)
        a, b = self._common(self._given(node, left), self._given(node, right), node)
        if isinstance(op, ast.Div):
            a, b = (self._as(v, FLOAT, node) if v.kind == INT else v for v in (a, b))
        whole, real = _ARITHMETIC.get(type(op), ("", ""))
        name = whole if a.kind == INT else real
        if not name:
            self._fail(node, ast.unparse(node))
        return Value(a.kind, getattr(self.builder, name)(a.code, b.code, flags=() if a.kind == INT else FUSED))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        of = self.visit(node.operand)
        if not isinstance(of, Value):
            return not of if isinstance(node.op, ast.Not) else -of
        if isinstance(node.op, ast.Not):
            return Value(BOOL, self.builder.not_(self._truth(self._given(node, of))))
        if isinstance(node.op, ast.USub):
            return self._operate(node, ast.Sub(), 0, of)
        return self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> Any:
        left, found = self.visit(node.left), None
        if len(node.ops) == 1 and not isinstance(left, Value):
            right = self.visit(node.comparators[0])
            if isinstance(node.ops[0], ast.In):
                return left in right
            if not isinstance(right, Value):
                return _FOLDED[type(node.ops[0])](left, right)
        left = self._given(node, left)
        for op, other in zip(node.ops, node.comparators, strict=True):
            if isinstance(op, ast.In):
                here = [self._compare(node, ast.Eq(), left, self._given(node, x)) for x in self.visit(other)]
                one = here[0]
                for x in here[1:]:
                    one = self.builder.or_(one, x)
            else:
                right = self._value(other)
                one = self._compare(node, op, left, right)
                left = right
            found = one if found is None else self.builder.and_(found, one)
        return Value(BOOL, found)

    def _compare(self, node: ast.AST, op: ast.cmpop, left: Value, right: Value) -> Any:
        a, b = self._common(left, right, node)
        sign = _COMPARED[type(op)]
        if a.kind == INT:
            return self.builder.icmp_signed(sign, a.code, b.code)
        return (self.builder.fcmp_unordered if sign == "!=" else self.builder.fcmp_ordered)(sign, a.code, b.code)

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        """What follows is looked at only if it decides."""
        b, every, values = self.builder, isinstance(node.op, ast.And), list(node.values)
        found = self.visit(values.pop(0))
        while not isinstance(found, Value):  # what is known is left out
            if bool(found) != every or not values:
                return bool(found)
            found = self.visit(values.pop(0))
        after, known = b.append_basic_block(), []
        while True:
            truth = self._truth(self._given(node, found))
            known.append((ir.IntType(1)(not every) if values else truth, b.block))
            if not values:
                break
            more = b.append_basic_block()
            b.cbranch(truth, *((more, after) if every else (after, more)))
            b.position_at_end(more)
            found = self.visit(values.pop(0))
        b.branch(after)
        b.position_at_end(after)
        found = b.phi(ir.IntType(1))
        for code, block in known:
            found.add_incoming(code, block)
        return Value(BOOL, found)

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        b, known, test = self.builder, [], self.visit(node.test)
        if not isinstance(test, Value):
            return self.visit(node.body if test else node.orelse)
        yes, no, after = (b.append_basic_block() for _ in range(3))
        b.cbranch(self._truth(test), yes, no)
        for block, of in ((yes, node.body), (no, node.orelse)):
            b.position_at_end(block)
            value = self._value(of)
            if isinstance(value.kind, np.dtype) and value.kind.kind != "f" and value.kind != BOOL:
                value = self._as(value, INT, node)
            known.append((value, b.block))
            b.branch(after)
        if known[0][0].kind != known[1][0].kind:
            self._fail(node, f"{ast.unparse(node)}, of one type or another,")
        b.position_at_end(after)
        found = b.phi(_type(known[0][0].kind))
        for value, block in known:
            found.add_incoming(value.code, block)
        return Value(known[0][0].kind, found)

    def visit_Call(self, node: ast.Call) -> Any:
        of, given = self.visit(node.func), [self.visit(a) for a in node.args]
        b = self.builder
        if isinstance(of, Function):
            return self._call(node, of, given)
        if isinstance(of, type) and issubclass(of, tuple):
            return of(*given)
        integer = isinstance(of, type) and issubclass(of, np.integer)
        if not any(isinstance(a, Value) for a in given) and not isinstance(of, Emitted) and not integer:
            return of(*given)
        given = [self._given(node, a) for a in given]
        if isinstance(of, Emitted):
            code = of.write(b, *(v.code for v in given))
            return None if code is None else Value(_KINDS[str(code.type)], code)
        if of in (max, min) and len(given) == 2:
            x, y = self._common(given[0], given[1], node)
            first = self._compare(node, ast.Lt() if of is min else ast.Gt(), x, y)
            return Value(x.kind, b.select(first, x.code, y.code))
        if of is len and isinstance(given[0].kind, Array):
            return Value(INT, self._word(given[0].code, 1))
        if isinstance(of, type) and issubclass(of, np.integer):
            return self._as(given[0], np.dtype(of), node)
        return self.generic_visit(node)

    def _call(self, node: ast.AST, of: Function, given: list[Any]) -> Any:
        if of.woven:
            return _Body(of, given, self.builder, self.written).write()
        if all(isinstance(a, Value | bool | int | float) for a in given):
            given = [self._given(node, a) for a in given]
        if of.apart:
            return self._linked(node, of, given)
        key = of, *(v.kind if isinstance(v, Value) else ("known", v if isinstance(v, int) else id(v)) for v in given)
        if key not in self.written:
            self.written[key] = self._function(node, of, given)
        found = self.builder.call(self.written[key], [v.code for v in given if isinstance(v, Value)])
        return None if found.type == ir.VoidType() else Value(INT, found)

    def _linked(self, node: ast.AST, of: Function, given: list[Value]) -> None:
        """A call of a function whose code is somewhere else: it finds it by a name that says which it is."""
        kind = next((v.kind for v, name in zip(given, of.parameters, strict=True) if name == "float"), FLOAT)
        name = f"{of.__module__}:{of.__name__}:{kind.str[1:]}"  # type: ignore[union-attr]
        to = [kind if wanted == "float" else INT for wanted in of.parameters]
        module = self.builder.module
        if name not in module.globals:
            ir.Function(module, ir.FunctionType(ir.VoidType(), [_type(k) for k in to]), name).attributes.add("nounwind")
        codes = [self._as(v, k, node).code for v, k in zip(given, to, strict=True)]
        self.builder.call(module.globals[name], codes)

    def _function(self, node: ast.AST, of: Function, given: list[Any]) -> Any:
        module, nothing = self.builder.module, of.returns_nothing
        returned = ir.VoidType() if nothing else _WORD
        name = module.get_unique_name(of.__name__)
        made = ir.Function(
            module, ir.FunctionType(returned, [_type(v.kind) for v in given if isinstance(v, Value)]), name
        )
        made.linkage = "internal"
        made.attributes.add("nounwind")
        if of.inlined:
            made.attributes.add("alwaysinline")
        builder = ir.IRBuilder(made.append_basic_block())
        codes = iter(made.args)
        inside = [Value(v.kind, next(codes)) if isinstance(v, Value) else v for v in given]
        _Body(of, inside, builder, self.written).write()
        if not builder.block.is_terminated:
            builder.ret_void() if nothing else builder.unreachable()
        return made

    # Statements

    def _all(self, nodes: Sequence[ast.stmt]) -> None:
        for node in nodes:
            if self.builder.block.is_terminated:  # what follows a break is not reached
                return
            self.visit(node)

    def _set(self, name: str, value: Value) -> None:
        if name in self.known:
            self._fail(self.function.tree, f"{name}, which is known and then is not,")
        if name not in self.names:
            with self.builder.goto_entry_block():
                self.names[name] = Value(value.kind, self.builder.alloca(_type(value.kind)))
        held = self.names[name]
        self.builder.store(self._as(value, held.kind, self.function.tree).code, held.code)

    def _assign(self, target: ast.AST, found: Any) -> None:
        if isinstance(target, ast.Tuple):
            for t, f in zip(target.elts, found, strict=True):
                self._assign(t, f)
        elif isinstance(target, ast.Name):
            if isinstance(found, list) or (not isinstance(found, Value) and self.function.written[target.id] == 1):
                self.known[target.id] = found
            else:
                self._set(target.id, self._given(target, found))
        elif isinstance(target, ast.Subscript):
            kind, pointer = self._element(target)
            self.builder.store(self._as(self._given(target, found), kind, target).code, pointer)
        else:
            self._fail(target, ast.unparse(target))

    def visit_Assign(self, node: ast.Assign) -> None:
        found = self.visit(node.value)
        for target in node.targets:
            self._assign(target, found)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._assign(node.target, self.visit(node.value))

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._assign(node.target, self._operate(node, node.op, self.visit(node.target), self.visit(node.value)))

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # a docstring
            self.visit(node.value)

    def visit_Return(self, node: ast.Return) -> None:
        found = None if node.value is None else self.visit(node.value)
        if self.function.woven:
            if node is not self.function.tree.body[-1]:
                self._fail(node, "a return before the end of a function that is woven into another")
            self.result = found
        elif found is None:
            self.builder.ret_void()
        else:
            self.builder.ret(self._as(self._given(node, found), INT, node).code)

    def visit_If(self, node: ast.If) -> None:
        b, test = self.builder, self.visit(node.test)
        if not isinstance(test, Value):
            self._all(node.body if test else node.orelse)
            return
        yes, no, after = (b.append_basic_block() for _ in range(3))
        b.cbranch(self._truth(test), yes, no)
        for block, body in ((yes, node.body), (no, node.orelse)):
            b.position_at_end(block)
            self._all(body)
            if not b.block.is_terminated:
                b.branch(after)
        b.position_at_end(after)

    @contextmanager
    def _loop(self, again: Any, after: Any) -> Iterator[None]:
        self.loops.append((again, after))
        yield
        self.loops.pop()
        if not self.builder.block.is_terminated:
            self.builder.branch(again)
        self.builder.position_at_end(after)

    def visit_While(self, node: ast.While) -> None:
        b = self.builder
        head, body, after = (b.append_basic_block() for _ in range(3))
        b.branch(head)
        b.position_at_end(head)
        b.cbranch(self._truth(self._value(node.test)), body, after)
        b.position_at_end(body)
        with self._loop(head, after):
            self._all(node.body)

    def visit_For(self, node: ast.For) -> None:
        call, b = node.iter, self.builder
        if (
            not isinstance(call, ast.Call)
            or self.visit(call.func) is not range
            or not isinstance(node.target, ast.Name)
        ):
            self._fail(node, f"a loop over {ast.unparse(call)}")
        known = [self.visit(a) for a in call.args]
        if self.function.written[node.target.id] == 1 and not any(isinstance(x, Value) for x in known):
            self._unrolled(node, range(*known))
            return
        bounds = [self._as(self._given(node, x), INT, node).code for x in known]
        first, end = (bounds[0], bounds[1]) if len(bounds) > 1 else (_WORD(0), bounds[0])
        with b.goto_entry_block():
            count = b.alloca(_WORD)
        b.store(first, count)
        head, body, more, after = (b.append_basic_block() for _ in range(4))
        b.branch(head)
        b.position_at_end(head)
        i = b.load(count)
        b.cbranch(b.icmp_signed("<", i, end), body, after)
        b.position_at_end(more)
        b.store(b.add(b.load(count), bounds[2] if len(bounds) > 2 else _WORD(1)), count)
        b.branch(head)
        b.position_at_end(body)
        self._set(node.target.id, Value(INT, i))
        with self._loop(more, after):
            self._all(node.body)

    def _unrolled(self, node: ast.For, over: range) -> None:
        """A loop whose bounds are known, written down round by round."""
        name, b = node.target.id, self.builder  # type: ignore[attr-defined]
        after = b.append_basic_block()
        for i in over:
            more = b.append_basic_block()
            self.known[name] = i
            with self._loop(more, after):
                self._all(node.body)
            b.position_at_end(more)
        self.known.pop(name, None)
        b.branch(after)
        b.position_at_end(after)

    def visit_Break(self, node: ast.Break) -> None:
        self.builder.branch(self.loops[-1][1])

    def visit_Continue(self, node: ast.Continue) -> None:
        self.builder.branch(self.loops[-1][0])
