"""Creates the experiment of a search method, and answers when it is asked."""

import json
import logging
import os
import pathlib
import re
import shlex
import sys
import tempfile
import time
from typing import Any, Callable, Dict, Iterable, List, NoReturn, Optional, Union

from determined import _sampler
from determined.searcher._search import Search
from determined.searcher._search_method import SearchMethod

logger = logging.getLogger("determined.searcher")

EXPERIMENT_ID_FILE = "experiment_id.txt"
MAX_TRIALS = 256
_LOOK_INTERVAL_S = 2.0
_ENDED = ("COMPLETED", "CANCELED", "ERROR", "INTERRUPTED")

Config = Union[Dict[str, Any], str, "os.PathLike[str]"]
Path = Union[str, "os.PathLike[str]"]


def answer(method: SearchMethod, request: _sampler.Request, directory: pathlib.Path) -> Dict[str, Any]:
    """The answer of a search method to a request of the protocol of samplers.

    Args:
        directory: where the states of the search are kept
    """
    if request.question == "report":
        return {}
    return Search(method, request, directory).answer()


def _answer_and_exit(method: SearchMethod) -> NoReturn:
    directory = pathlib.Path(os.environ[_sampler.DIRECTORY])
    _sampler.reply(answer(method, _sampler.request(), directory))
    raise SystemExit(0)


def own_command(directory: Optional[Path] = None) -> List[str]:
    """The command that runs this script again.

    Args:
        directory: where: a copy of the working directory. None: the working directory

    Raises:
        RuntimeError: this program is no script
    """
    main = sys.modules["__main__"]
    spec = getattr(main, "__spec__", None)
    if spec is not None:
        name = spec.name[: -len(".__main__")] if spec.name.endswith(".__main__") else spec.name
        script = ["-m", name]
    elif getattr(main, "__file__", None):
        script = [os.path.relpath(sys.argv[0])]
    else:
        raise RuntimeError("a search method must be run from a script: it is run again at each event of the search")
    words = [sys.executable or "python3", *script, *sys.argv[1:]]
    return ["bash", "-c", f"cd {shlex.quote(os.fspath(directory or os.getcwd()))} && exec {shlex.join(words)}"]


def _text_of(config: Config) -> str:
    if isinstance(config, dict):
        return json.dumps(config)  # JSON is YAML
    return pathlib.Path(config).read_text(encoding="utf-8")


def create_experiment(
    config: Config, model_dir: Path, includes: Optional[Iterable[Path]], searcher: Dict[str, Any]
) -> int:
    """Creates the experiment whose sampler is this script. Returns its number.

    Args:
        searcher: further keys of the searcher: its command
    """
    from determined.experimental.client import _det_submit

    text = _text_of(config)
    keys: Dict[str, Any] = {"sets_lengths": True, **searcher}
    if not re.search(r"\bmax_trials['\"]?\s*:", text):
        logger.warning("searcher.max_trials is not configured: the search has at most %d trials", MAX_TRIALS)
        keys["max_trials"] = MAX_TRIALS
    words = [os.fspath(model_dir)]
    words += [word for path in includes or () for word in ("--include", os.fspath(path))]
    for key, value in keys.items():
        words += ["--config", f"searcher.{key}={json.dumps(value)}"]
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        name = os.fspath(config) if not isinstance(config, dict) else file.name
        experiment_id: int = _det_submit.ask("experiment", "create", name, *words)["id"]
    return experiment_id


class SearchRunner:
    """Runs a search method. Use LocalSearchRunner, or RemoteSearchRunner inside of a trial."""

    def __init__(self, search_method: SearchMethod) -> None:
        self.search_method = search_method

    def _run(
        self,
        config: Config,
        model_dir: Optional[Path],
        includes: Optional[Iterable[Path]],
        load: Callable[[], Optional[int]],
        save: Callable[[int], None],
        searcher: Callable[[], Dict[str, Any]],
    ) -> int:
        if _sampler.is_asked():
            _answer_and_exit(self.search_method)
        experiment_id = load()
        if experiment_id is None:
            experiment_id = create_experiment(config, model_dir or os.getcwd(), includes, searcher())
            save(experiment_id)
            logger.info("Created experiment %d", experiment_id)
        else:
            logger.info("Waiting for experiment %d", experiment_id)
        self._wait(experiment_id)
        return experiment_id

    def _wait(self, experiment_id: int) -> None:
        """Waits for the end of the experiment. The search does not need this process."""
        from determined.experimental.client import _det_submit

        try:
            while not self._must_stop():
                state = _det_submit.ask("experiment", "describe", str(experiment_id))["state"]
                if state in _ENDED:
                    logger.info("experiment %d: %s", experiment_id, state)
                    return
                time.sleep(_LOOK_INTERVAL_S)
        except KeyboardInterrupt:
            print(f"Runner interrupted: experiment {experiment_id} goes on")

    def _must_stop(self) -> bool:
        return False


class LocalSearchRunner(SearchRunner):
    """Runs a search from the login node. This process only waits: it may be ended, and run again.

    Args:
        search_method: the method
        searcher_dir: a directory that remembers the experiment. None: the working directory

    Raises:
        FileExistsError: searcher_dir is no directory
    """

    def __init__(self, search_method: SearchMethod, searcher_dir: Optional[pathlib.Path] = None) -> None:
        super().__init__(search_method)
        self.searcher_dir = pathlib.Path(searcher_dir or pathlib.Path.cwd())
        if self.searcher_dir.exists() and not self.searcher_dir.is_dir():
            raise FileExistsError(f"searcher_dir '{self.searcher_dir}' is no directory")
        self.searcher_dir.mkdir(parents=True, exist_ok=True)

    def run(
        self,
        exp_config: Config,
        model_dir: Optional[Path] = None,
        includes: Optional[Iterable[Path]] = None,
        context_dir: Optional[Path] = None,
    ) -> int:
        """Creates the experiment, unless searcher_dir remembers one, waits for its end and returns its number.

        Args:
            exp_config: a YAML file or a map with `searcher: {name: custom, metric: ...}`
            model_dir: the directory with the code of the trials. None: the working directory
            includes: further files and directories for the working directory of the trials
            context_dir: a former name of model_dir
        """
        file = self.searcher_dir / EXPERIMENT_ID_FILE

        def load() -> Optional[int]:
            return int(file.read_text()) if file.exists() else None

        def save(experiment_id: int) -> None:
            fresh = file.with_name(f".{EXPERIMENT_ID_FILE}.new")  # this process may be killed at any time
            fresh.write_text(str(experiment_id))
            fresh.replace(file)

        return self._run(exp_config, model_dir or context_dir, includes, load, save, lambda: {"command": own_command()})
