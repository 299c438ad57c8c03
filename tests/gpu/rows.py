"""Rows that a check prints: one line of JSON each."""

import contextlib
import json
import traceback
from typing import Any, Dict, Iterator, Optional


class Row:
    """A row that is being made. A check that is not right raises an exception."""

    def __init__(self, name: str) -> None:
        self._values: Dict[str, Any] = {"row": name, "result": "ok"}

    def set_figure(self, value: float, unit: str, mark: Optional[float] = None, note: str = "") -> None:
        """What was measured.

        Args:
            mark: a figure above it makes the row fail on a real device
            note: the measurements that it is made of
        """
        self._values.update(figure=value, unit=unit)
        if mark is not None:
            self._values["mark"] = mark
        if note:
            self._values["note"] = note

    def fail(self, problem: BaseException) -> None:
        traceback.print_exception(type(problem), problem, problem.__traceback__)
        self._values.update(result="failed", reason=f"{type(problem).__name__}: {problem}")

    def print(self) -> None:
        print(json.dumps(self._values), flush=True)


@contextlib.contextmanager
def row(name: str) -> Iterator[Row]:
    """Prints the row at the end of the block, also if the block raises an exception. The program goes on."""
    made = Row(name)
    try:
        yield made
    except Exception as problem:
        made.fail(problem)
    made.print()


def require(condition: Any, text: str) -> None:
    if not condition:
        raise AssertionError(text)
