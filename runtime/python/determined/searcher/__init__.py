"""Searches of the user's own, with Determined's names.

A SearchMethod answers events of a search by operations: it creates trials, says how far they train, and closes them. A script
written for Determined runs as it is:

    from determined import searcher

    runner = searcher.LocalSearchRunner(MySearchMethod(), searcher_dir=pathlib.Path("search"))
    runner.run("config.yaml", model_dir="experiment_files")

No process of it needs to live while the search runs. The runner creates an experiment whose sampler is this very script: wherever
a trial begins, has trained to its length or has failed, the supervisor on the node runs the script again for this one event. There
run() restores the method by load_method_state(), calls its handler, saves it by save_method_state(), answers and exits. The script
may also be the sampler itself: `searcher: {name: custom, sets_lengths: true, command: [python3, script.py], ...}`.
"""

from determined import _sampler
from determined.searcher._remote_search_runner import RemoteSearchRunner
from determined.searcher._search_method import (
    Close,
    Create,
    ExitedReason,
    Operation,
    Progress,
    SearcherState,
    SearchMethod,
    Shutdown,
    ValidateAfter,
)
from determined.searcher._search_runner import LocalSearchRunner, SearchRunner

if _sampler.is_asked():
    _sampler.keep_output()  # what the script prints is no part of the answer

__all__ = [
    "Close",
    "Create",
    "ExitedReason",
    "LocalSearchRunner",
    "Operation",
    "Progress",
    "RemoteSearchRunner",
    "SearchMethod",
    "SearchRunner",
    "SearcherState",
    "Shutdown",
    "ValidateAfter",
]
