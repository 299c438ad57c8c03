"""Tests experimental.client with a det-submit that answers from files and records its command lines."""

import contextlib
import datetime
import io
import json
import os
import unittest
from unittest import mock

from determined import errors
from determined.experimental import client
from support import Case

DET_SUBMIT = """#!/bin/sh
echo "$*" >>calls
if [ "$1 $2" = "experiment create" ] && [ -e "$3" ]; then
  grep -q '"name": "n"' "$3" || exit 1
  shift 3
  set -- experiment create FILE "$@"
fi
case $* in *"--group nothing"*) echo "error: there is no group 'nothing' [no-such-metric]" >&2; exit 4 ;; esac
answer=answers/$(echo "$*" | sed 's/ --json$//; s,/,_,g')
[ -e "$answer" ] || { echo "error: absent" >&2; exit 4; }
echo "warning: careful" >&2
cat "$answer"
"""

TRIAL = {"id": 7000000, "experiment_id": 7, "state": "COMPLETED", "hyperparameters": {"lr": 0.1}}
RUN = {"started": "2026-11-21T12:00:00Z", "ended": "2026-11-21T13:00:00Z"}
EXPERIMENT = {
    "state": "COMPLETED",
    "name": "n",
    "labels": ["a"],
    "config": {"searcher": {"metric": "acc", "smaller_is_better": False}},
    "trials": [{"id": 7000000, "runs": [RUN], "state": "COMPLETED"}, {"id": 7000001, "runs": [], "state": "ERROR"}],
}


def checkpoint(uuid, trial, steps, metric, state="COMPLETED"):
    return {
        "uuid": uuid,
        "trial": f"7.{trial}",
        "trial_id": 7000000 + trial,
        "run": 1,
        "steps_completed": steps,
        "metric": metric,
        "state": state,
        "time": f"2026-11-21T12:00:{steps:02}Z",
        "resources": {"state": 1},
        "metadata": {"steps_completed": steps},
    }


CHECKPOINTS = [
    checkpoint("u1", 0, 10, 0.5),
    checkpoint("u2", 0, 20, 0.7),
    checkpoint("u3", 1, 10, 0.6),
    checkpoint("u4", 1, 20, 0.9, "DELETED"),
    checkpoint("u5", 1, 30, None),
]
REPORTS = [
    {"run": 0, "group": "validation", "steps_completed": 10, "time": "2026-11-21T12:00:10Z", "metrics": {"acc": 0.5, "loss": 1.0}},
    {"run": 1, "group": "validation", "steps_completed": 20, "time": "2026-11-21T12:00:20.500000Z", "metrics": {"acc": 0.7, "loss": 2.0}},
]
TRAINING = {"run": 1, "group": "training", "steps_completed": 20, "time": "2026-11-21T12:00:20Z",
            "metrics": {"loss": 3.0, "batch_metrics": [{"loss": 3}]}}


def model(number, name, **attributes):
    return {
        "id": number,
        "name": name,
        "description": "",
        "notes": "",
        "labels": ["a"],
        "metadata": {"k": 1},
        "creation_time": "2026-11-21T12:00:00.000000Z",
        "last_updated_time": "2026-11-21T12:00:10.000000Z",
        "username": "ann",
        "archived": False,
        **attributes,
    }


def version(number, uuid, **attributes):
    same = {"username": "ann", "creation_time": "2026-11-21T12:00:00Z", "last_updated_time": "2026-11-21T12:00:00Z"}
    texts = {"name": "", "comment": "", "notes": "", "labels": [], "metadata": {}}
    about = {"model_id": 1, "model": "mnist", "version": number, "checkpoint": {"uuid": uuid}}
    return {**same, **texts, **about, **attributes}


MNIST = model(1, "mnist", description="Digits")
MODELS = {
    'model create mnist --description Digits --metadata {"k": 1} --label a': MNIST,
    "model describe mnist": {**MNIST, "version": version(2, "u2")},
    "model describe 1": {**MNIST, "version": version(2, "u2")},
    "model describe 1 --version 1": {**MNIST, "version": version(1, "u1")},
    "model describe 2": {**model(2, "cifar"), "version": None},
    "model list": [MNIST, model(2, "cifar", labels=["b", "a"])],
    "model list --sort-by name --order-by asc": [model(2, "cifar"), MNIST],
    "model list --sort-by num_versions --order-by desc": [MNIST, model(2, "cifar")],
    "model register-version 1 u2": version(2, "u2"),
    "model list-versions 1": [version(1, "u1"), version(2, "u2")],
    'model update 1 --metadata {"k": 1, "j": 2}': {**MNIST, "metadata": {"k": 1, "j": 2}},
    "model update 1 --metadata {}": {**MNIST, "metadata": {}},
    "model update 1 --no-labels": {**MNIST, "labels": []},
    "model update 1 --label x --label y": {**MNIST, "labels": ["x", "y"]},
    "model update 1 --description d": {**MNIST, "description": "d"},
    "model update 1 --version 2 --name best": version(2, "u2", name="best"),
    "model update 1 --version 2 --notes n": version(2, "u2", name="best", notes="n"),
    "model archive 1": {**MNIST, "archived": True},
    "model unarchive 1": MNIST,
    "model delete 1 --version 2 --yes": {},
    "model delete 1 --yes": {},
}


def listed(number, name, state, owner, best=None):
    return {
        "id": number,
        "name": name,
        "state": state,
        "owner": owner,
        "labels": ["a"] if number < 10 else ["a", "b"],
        "archived": number == 7,
        "started": "2026-11-21T12:00:00Z" if number < 11 else None,
        "ended": None,
        "trials": EXPERIMENT["trials"][: number % 3],
        "best_trial": best and {"value": best},
    }


LIST = [
    listed(7, "mnist", "COMPLETED", "ann", 0.9),
    listed(9, "cifar", "RUNNING", "bob"),
    listed(11, "MNIST-2", "QUEUED", "ann", 0.8),
]
ANSWERS = {
    "experiment list --all": LIST,
    "experiment list --all --metrics": LIST,
    "experiment list-trials 7 --by-metric": [
        {"id": 7000001, "best_validation": {"value": 0.9}},
        {"id": 7000000, "best_validation": {"value": 0.8}},
    ],
    "experiment set notes 7 read this": {},
    'checkpoint set metadata u2 {"steps_completed": 20, "k": 1}': {"metadata": {"steps_completed": 20, "k": 1}},
    "checkpoint set metadata u2 {}": {"metadata": {"steps_completed": 20}},
    "experiment create e.yaml code --include x --template t": {"id": 7},
    "experiment create FILE": {"id": 7},
    "experiment describe 7": EXPERIMENT,
    "experiment describe 8": {"state": "PAUSED", "trials": []},
    "experiment config 7": EXPERIMENT["config"],
    "experiment list-checkpoints 7": CHECKPOINTS,
    "experiment label add 7 b": {},
    "experiment label remove 7 a": {},
    "trial describe 7000000": TRIAL,
    "trial describe 7000001": {**TRIAL, "id": 7000001, "state": "RUNNING", "progress": 0.5},
    "trial describe 7": TRIAL,
    "trial describe 7000000 --metrics-summary": {
        "summary_metrics": {"validation": {"acc": {"count": 2, "last": 0.7, "max": 0.7, "mean": 0.5, "min": 0.3}}, "mine": {}}
    },
    "trial metrics 7000000": [*REPORTS, TRAINING],
    "trial metrics 7000000 --group validation": REPORTS,
    "trial metrics 7000001 --group validation": [],
    "trial logs 7000000 --follow --tail 2 --level info": "[rank=0] INFO: a\n[rank=0] INFO: b\n",
    "checkpoint describe u2": {"run": "7.0.1"},
    "checkpoint describe u4": {"run": "7.1.0"},
    "checkpoint describe imported": {"run": ""},
    "checkpoint download u2 --output-dir checkpoints/u2": {},
    "checkpoint download u2 --output-dir empty": {},
    "trial logs 7000000 --node n1 --until 2026-11-21T12:00:00.000000Z --since 2026-11-21T11:00:00.000000Z --rank 0 --rank 2": "[rank=2] b\n",
    "checkpoint delete u2 --yes": {},
    **MODELS,
}


class Client(Case):
    def setUp(self):
        super().setUp()
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.directory)
        os.mkdir("answers")
        for words, answer in ANSWERS.items():
            with open(f"answers/{words.replace('/', '_')}", "w", encoding="utf-8") as file:
                file.write(answer if isinstance(answer, str) else json.dumps(answer))
        with open("det-submit", "w", encoding="utf-8") as file:
            file.write(DET_SUBMIT)
        os.chmod("det-submit", 0o755)
        program = mock.patch("determined.experimental.client._det_submit._program", lambda: "./det-submit")
        program.start()
        self.addCleanup(program.stop)
        messages = contextlib.redirect_stderr(io.StringIO())
        self.messages = messages.__enter__()
        self.addCleanup(messages.__exit__, None, None, None)

    def test_experiments_are_created_of_files_and_of_maps(self):
        self.assertEqual(client.create_experiment("e.yaml", "code", ["x"], template="t").id, 7)
        self.assertEqual(client.create_experiment({"name": "n"}).name, "n")
        with self.assertRaisesRegex(ValueError, "config must be a path or a map, not int"):
            client.create_experiment(7)

    def test_waiting_returns_the_end_and_refuses_a_pause(self):
        self.assertIs(client.Determined("m").get_experiment(7).wait(), client.ExperimentState.COMPLETED)
        with self.assertRaisesRegex(ValueError, "experiment 8 is paused"):
            client.get_experiment(8).wait()

    def test_what_does_not_exist_is_an_error_with_the_words_of_det_submit(self):
        with self.assertRaisesRegex(client.CommandError, "error: absent") as caught:
            client.get_experiment(9)
        self.assertEqual(caught.exception.exit_code, 4)
        with self.assertRaises(errors.CheckpointNotFound):
            client.get_checkpoint("u9")
        with self.assertRaisesRegex(errors.CheckpointNotFound, "no trial has saved it"):
            client.get_checkpoint("imported")

    def test_warnings_of_det_submit_are_shown(self):
        client.get_experiment(7)
        self.assertEqual(self.messages.getvalue(), "warning: careful\n")

    def test_trials_have_hyperparameters_and_metrics(self):
        self.assertEqual([trial.id for trial in client.get_experiment(7).list_trials()], [7000000, 7000001])
        trial = client.get_trial(7)
        self.assertEqual((trial.id, trial.hparams), (7000000, {"lr": 0.1}))
        self.assertEqual([report.metrics["loss"] for report in trial.iter_metrics()], [1.0, 2.0, 3.0])
        self.assertEqual([report.batch_metrics for report in trial.iter_metrics()], [None, None, [{"loss": 3}]])
        acc = {"count": 2, "last": 0.7, "max": 0.7, "mean": 0.5, "min": 0.3}
        self.assertEqual(trial.summary_metrics, {"validation_metrics": {"acc": {**acc, "sum": 1.0}}, "mine": {}})

    def test_reports_have_times_and_runs_from_1(self):
        (first, second) = client.get_trial(7).stream_validation_metrics()
        self.assertEqual((first.trial_run_id, second.trial_run_id), (1, 2))
        self.assertEqual((second.end_time - first.end_time).total_seconds(), 10.5)
        self.assertIsInstance(first, client.ValidationMetrics)
        self.assertIsInstance(first, client.TrialMetrics)
        groups = [report.group for report in client.stream_trials_metrics([7000000])]
        self.assertEqual(groups, ["validation", "validation", "training"])

    def test_experiments_are_listed_by_what_is_asked_for(self):
        def ids(**arguments):
            return [experiment.id for experiment in client.list_experiments(**arguments)]

        self.assertEqual(ids(), [7, 9, 11])
        self.assertEqual(ids(order_by=client.OrderBy.DESCENDING), [11, 9, 7])
        self.assertEqual(ids(sort_by=client.ExperimentSortBy.NAME), [11, 9, 7])
        self.assertEqual(ids(sort_by=client.ExperimentSortBy.NUM_TRIALS), [9, 7, 11])
        self.assertEqual(ids(sort_by=client.ExperimentSortBy.SEARCHER_METRIC_VAL), [11, 7, 9])
        self.assertEqual(ids(sort_by=client.ExperimentSortBy.START_TIME, order_by=client.OrderBy.DESC), [7, 9, 11])
        self.assertEqual(ids(name="mnist"), [7, 11])
        self.assertEqual(ids(users=["bob"]), [9])
        self.assertEqual(ids(labels=["a", "b"]), [11])
        self.assertEqual(ids(experiment_ids=[9, 10]), [9])
        self.assertEqual(ids(states=[client.ExperimentState.COMPLETED]), [7])
        self.assertEqual(ids(states=[client.ExperimentState.ACTIVE]), [9, 11])
        with self.assertRaisesRegex(ValueError, "no numbers of projects"):
            ids(project_id=1)
        self.assertEqual(len(self.calls()), 12)  # one command for each list
        (archived, *_) = client.list_experiments()
        self.assertTrue(archived.archived)
        self.assertEqual(archived.config["searcher"]["metric"], "acc")

    def test_trials_are_sorted_by_what_is_asked_for(self):
        def ids(sort_by, order_by=client.OrderBy.ASC):
            return [trial.id % 7000000 for trial in client.get_experiment(7).get_trials(sort_by, order_by)]

        by = client.TrialSortBy
        self.assertEqual(ids(by.ID, client.OrderBy.DESC), [1, 0])
        self.assertEqual(ids(by.BEST_VALIDATION_METRIC, client.OrderBy.DESC), [1, 0])
        self.assertEqual(ids(by.DURATION), [1, 0])
        self.assertEqual(ids(by.START_TIME), [0, 1])
        self.assertEqual(ids(by.START_TIME, client.OrderBy.DESC), [0, 1])  # without a run: the last
        self.assertEqual(ids(by.CHECKPOINT_SIZE, client.OrderBy.DESC), [1, 0])

    def test_a_group_without_reports_is_empty(self):
        self.assertEqual(list(client.get_trial(7).iter_metrics("nothing")), [])
        self.assertEqual(len(list(client.get_trial(7).iter_metrics(""))), 3)

    def test_an_experiment_that_has_ended_need_not_be_ended(self):
        client.get_experiment(7).kill()
        client.get_experiment(7).cancel()
        client.get_trial(7).kill()
        with self.assertRaises(client.CommandError):
            client.get_experiment(8).kill()

    def test_notes_are_changed(self):
        client.get_experiment(7).set_notes("read this")
        self.assertIn("experiment set notes 7 read this --json", self.calls())

    def test_errors_are_caught_by_determineds_names(self):
        from determined.common.api import errors as api_errors

        with self.assertRaises(api_errors.NotFoundException) as caught:
            client.get_experiment(10)
        self.assertIsInstance(caught.exception, client.CommandError)
        self.assertEqual(caught.exception.status_code, 404)

    def test_progress_is_the_mean_of_the_trials(self):
        self.assertEqual(client.get_experiment(7).progress, 0.75)
        self.assertIsNone(client.get_experiment(8).progress)

    def test_logs_are_lines(self):
        trial = client.get_trial(7)
        lines = list(trial.iter_logs(follow=True, tail=2, min_level="INFO"))
        self.assertEqual(lines, ["[rank=0] INFO: a\n", "[rank=0] INFO: b\n"])
        some = trial.iter_logs(follow=True, tail=2, min_level="INFO")
        self.assertEqual(next(some), "[rank=0] INFO: a\n")
        some.close()
        with self.assertRaisesRegex(client.CommandError, "det-submit trial logs 7000000 --head 1 failed"):
            list(trial.iter_logs(head=1))
        end = datetime.datetime(2026, 11, 21, 12, tzinfo=datetime.timezone.utc)
        of_two_ranks = trial.logs(
            container_ids=["n1"],
            rank_ids=[0, 2],
            stdtypes=["stdout"],
            sources=["task"],
            timestamp_before=end,
            timestamp_after=int(end.timestamp()) - 3600,
        )
        self.assertEqual(list(of_two_ranks), ["[rank=2] b\n"])
        with self.assertRaisesRegex(ValueError, "container_ids"):
            trial.logs(container_ids=["n1", "n2"])

    def test_checkpoints_are_sorted_by_the_searchers_metric_the_best_one_first(self):
        experiment = client.get_experiment(7)
        self.assertEqual([each.uuid for each in experiment.list_checkpoints()], ["u2", "u3", "u1"])
        self.assertEqual([each.uuid for each in experiment.top_n_checkpoints(5)], ["u2", "u3"])
        self.assertEqual(experiment.top_checkpoint("loss", True).uuid, "u1")
        trial = client.get_trial(7000001)
        self.assertEqual(trial.top_checkpoint().uuid, "u3")
        self.assertEqual(trial.select_checkpoint(latest=True).uuid, "u5")
        with self.assertRaises(AssertionError):
            experiment.list_checkpoints("loss")
        with self.assertRaisesRegex(AssertionError, "exactly one"):
            trial.select_checkpoint()

    def test_a_checkpoint_knows_its_run(self):
        found = client.get_checkpoint("u4")
        self.assertEqual((found.task_id, found.allocation_id), ("7.1", "7.1.1"))

    def test_a_checkpoint_knows_what_made_it(self):
        found = client.get_checkpoint("u2")
        self.assertEqual(found.metadata, {"steps_completed": 20})
        self.assertEqual(found.training.validation_metrics, {"avgMetrics": {"acc": 0.7, "loss": 2.0}})
        self.assertEqual(found.report_time, datetime.datetime(2026, 11, 21, 12, 0, 20, tzinfo=datetime.timezone.utc))
        (report,) = found.get_metrics("validation")
        self.assertEqual((report.metrics["acc"], report.total_batches), (0.7, 20))

    def test_metadata_is_added_and_removed(self):
        found = client.get_checkpoint("u2")
        found.add_metadata({"k": 1})
        self.assertEqual(found.metadata, {"steps_completed": 20, "k": 1})
        found.remove_metadata(["steps_completed", "k"])
        self.assertEqual(found.metadata, {"steps_completed": 20})

    def test_a_checkpoint_is_downloaded_unless_it_is_there(self):
        self.assertEqual(client.get_checkpoint("u2").download(), "checkpoints/u2")
        self.assertIn("checkpoint download u2 --output-dir checkpoints/u2 --json", self.calls())
        os.mkdir("empty")
        self.assertEqual(client.get_checkpoint("u2").download("empty"), "empty")
        self.assertIn("checkpoint download u2 --output-dir empty --json", self.calls())
        os.mkdir("full")
        with open("full/metadata.json", "w", encoding="utf-8"):
            pass
        self.assertEqual(client.get_checkpoint("u2").download("full"), "full")
        self.assertNotIn("checkpoint download u2 --output-dir full --json", self.calls())
        with self.assertRaises(errors.CheckpointStateException):
            client.get_checkpoint("u4").download("full")

    def test_models_are_created_found_and_listed(self):
        created = client.create_model("mnist", "Digits", {"k": 1}, ["a"])
        self.assertEqual((created.model_id, created.metadata, created.username), (1, {"k": 1}, "ann"))
        self.assertEqual(created.creation_time.isoformat(), "2026-11-21T12:00:00+00:00")
        self.assertEqual([client.get_model(key).name for key in ("mnist", 1, 2)], ["mnist", "mnist", "cifar"])
        self.assertEqual([each.model_id for each in client.get_models()], [2, 1])
        self.assertEqual([each.model_id for each in client.list_models(name="MN")], [1])
        self.assertEqual([each.model_id for each in client.list_models(description="digits")], [1])
        by_versions = client.get_models(client.ModelSortBy.NUM_VERSIONS, client.ModelOrderBy.DESCENDING)
        self.assertEqual([each.model_id for each in by_versions], [1, 2])
        self.assertEqual(client.get_model_labels(), ["a", "b"])
        self.assertEqual(client.Determined().get_model("mnist").model_id, 1)
        with self.assertRaisesRegex(client.CommandError, "error: absent"):
            client.get_model("nothing")
        with self.assertRaisesRegex(ValueError, "no workspaces"):
            client.create_model("mnist", workspace_name="w")

    def test_versions_have_checkpoints(self):
        model = client.get_model("mnist")
        version = model.register_version("u2")
        self.assertEqual((version.model_version, version.model_name), (2, "mnist"))
        self.assertEqual(version.checkpoint.metadata, {"steps_completed": 20})
        self.assertEqual(model.get_version().model_version, 2)
        self.assertEqual(model.get_version(1).model_version, 1)
        self.assertIsNone(client.get_model(2).get_version())
        self.assertEqual([each.model_version for each in model.get_versions()], [2, 1])
        oldest_first = model.get_versions(client.ModelOrderBy.ASC)
        self.assertEqual([each.model_version for each in oldest_first], [1, 2])
        version.set_name("best")
        version.set_notes("n")
        self.assertEqual((version.name, version.notes), ("best", "n"))
        version.delete()
        self.assertIn("model delete 1 --version 2 --yes --json", self.calls())

    def test_models_are_changed(self):
        model = client.get_model("mnist")
        model.add_metadata({"j": 2})
        self.assertEqual(model.metadata, {"k": 1, "j": 2})
        model.remove_metadata(["k", "absent"])
        self.assertEqual(model.metadata, {})
        with self.assertRaises(ValueError):
            model.remove_metadata("k")
        model.set_labels([])
        self.assertEqual(model.labels, [])
        model.set_labels(["x", "y"])
        self.assertEqual(model.labels, ["x", "y"])
        model.set_description("d")
        self.assertEqual(model.to_json()["description"], "d")
        model.archive()
        self.assertTrue(model.archived)
        model.unarchive()
        self.assertFalse(model.archived)
        model.delete()
        self.assertIn("model delete 1 --yes --json", self.calls())

    def test_labels_are_replaced(self):
        client.get_experiment(7).set_labels(["b"])
        self.assertIn("experiment label remove 7 a --json", self.calls())
        self.assertIn("experiment label add 7 b --json", self.calls())

    def test_what_only_a_master_has_is_refused_when_it_is_called(self):
        with self.assertRaisesRegex(NotImplementedError, r"whoami\(\): det-submit has no users"):
            client.Determined().whoami()
        with self.assertRaisesRegex(ImportError, "det-submit has no determined.experimental.client.Workspace"):
            client.Workspace
        with self.assertRaises(AttributeError):
            client.Determined().nothing
        with self.assertRaisesRegex(AttributeError, "no attribute 'project_id' in det-submit: projects and workspaces"):
            client.get_experiment(7).project_id
        with self.assertRaisesRegex(AttributeError, "no attribute 'nothing'$"):
            client.get_trial(7).nothing

    def test_there_is_no_login_and_no_logout(self):
        client.login(master="http://master:8080", user="ann", password="")
        self.assertTrue(client.get_session_username())
        client.logout()

    def calls(self):
        with open("calls", encoding="utf-8") as file:
            return file.read().splitlines()


if __name__ == "__main__":
    unittest.main()
