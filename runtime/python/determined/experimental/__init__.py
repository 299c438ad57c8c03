"""Interfaces that Determined calls experimental."""

from typing import Any

from determined._refused import refuse

_INSTEAD = {
    "create": "use determined.experimental.client.create_experiment",
    "test_one_batch": "use `det-submit experiment create --test`",
}


def __getattr__(name: str) -> Any:
    return refuse(__name__, _INSTEAD.get(name, ""), list(_INSTEAD))(name)
