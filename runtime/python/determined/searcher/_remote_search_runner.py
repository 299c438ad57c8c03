"""Runs a search from a trial, as Determined does on its cluster."""

import json
import os
import shutil
from typing import TYPE_CHECKING, Any, Dict, Iterable, Optional

from determined import _info
from determined.searcher._search_method import SearchMethod
from determined.searcher._search_runner import Config, Path, SearchRunner, own_command

if TYPE_CHECKING:
    from determined import core

_FILE = "experiment_id"


class RemoteSearchRunner(SearchRunner):
    """Creates the experiment of a search from a trial, and waits for its end. The trial may be preempted: it continues waiting.

    Where the script runs again for an event, get_cluster_info() is that of the trial, and core.init() a context off the cluster.

    Args:
        search_method: the method
        context: what core.init() has returned
    """

    def __init__(self, search_method: SearchMethod, context: "core.Context") -> None:
        super().__init__(search_method)
        self.context = context
        info = _info.get_cluster_info()
        assert info is not None, "RemoteSearchRunner runs in a trial only"
        self.info = info
        self.latest_checkpoint = info.latest_checkpoint

    def run(
        self,
        exp_config: Config,
        model_dir: Optional[Path] = None,
        includes: Optional[Iterable[Path]] = None,
    ) -> int:
        """As LocalSearchRunner.run(). The trial's checkpoint remembers the experiment."""
        return self._run(exp_config, model_dir, includes, self._load, self._save, self._searcher)

    def _searcher(self) -> Dict[str, Any]:
        """The keys of the searcher. The working directory is on this node only: its copy is in DET_TRIAL_DIR."""
        code = os.path.join(os.environ["DET_TRIAL_DIR"], "search")
        shutil.rmtree(code, ignore_errors=True)
        shutil.copytree(os.getcwd(), code, symlinks=True)
        return {"command": own_command(code), "cluster_info": _info.copy_of(self.info)}

    def _load(self) -> Optional[int]:
        if self.latest_checkpoint is None:
            return None
        with self.context.checkpoint.restore_path(self.latest_checkpoint) as path:
            experiment_id: int = json.loads((path / _FILE).read_text())
            return experiment_id

    def _save(self, experiment_id: int) -> None:
        with self.context.checkpoint.store_path({"steps_completed": 0}) as (path, _):
            (path / _FILE).write_text(json.dumps(experiment_id))

    def _must_stop(self) -> bool:
        return self.context.preempt.should_preempt()
