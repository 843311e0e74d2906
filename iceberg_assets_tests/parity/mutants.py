"""The rule with one thing changed: a comparison moved to its neighbour, a word swapped, a number altered."""

import ast
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from iceberg_assets.health import rewrite_rule

_NEIGHBOUR: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
}


class Mutant(NamedTuple):
    """A changed rule: the line and what became of it, and the module that has it."""

    change: str
    rule: ModuleType


def mutants() -> Iterator[Mutant]:
    """Every rule with one change."""
    source = Path(rewrite_rule.__file__).read_text()
    lines = source.splitlines()
    for number in range(sum(1 for _ in _changes(ast.parse(source)))):
        tree = ast.parse(source)
        changed, change = list(_changes(tree))[number]
        before = ast.unparse(changed)
        change()
        module = ModuleType(f"mutant_{number}")
        exec(compile(tree, module.__name__, "exec"), module.__dict__)
        yield Mutant(f"{lines[changed.lineno - 1].strip()} | {before} → {ast.unparse(changed)}", module)


def _changes(tree: ast.Module) -> Iterator[tuple[ast.expr, Callable[[], None]]]:
    """What can be changed, each with the expression around it."""
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        texts = {id(part) for node in ast.walk(function) if _decides_nothing(node) for part in ast.walk(node)}
        for statement in ast.walk(function):
            if not isinstance(statement, ast.expr) or id(statement) in texts:
                continue
            match statement:
                case ast.Compare(ops=ops):
                    for place, operator in enumerate(ops):
                        yield statement, _set(ops, place, _NEIGHBOUR[type(operator)]())
                case ast.BoolOp(op=operator):
                    yield statement, _put(statement, "op", ast.Or() if isinstance(operator, ast.And) else ast.And())
                case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
                    yield statement, _put(statement, "value", value + 1 if isinstance(value, int) else value / 2)


def _decides_nothing(node: ast.AST) -> bool:
    """What is said to people, and what is refused before anything is decided; both have tests of their own."""
    refuses = isinstance(node, ast.If) and any(isinstance(one, ast.Raise) for one in node.body)
    return refuses or isinstance(node, ast.JoinedStr) or (isinstance(node, ast.FunctionDef) and node.name == "_files")


def _set(sequence: list[ast.cmpop], place: int, value: ast.cmpop) -> Callable[[], None]:
    return lambda: sequence.__setitem__(place, value)


def _put(node: ast.AST, name: str, value: object) -> Callable[[], None]:
    return lambda: setattr(node, name, value)
