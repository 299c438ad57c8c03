"""Does by experimental.client what a user does on the login node: creates the experiment of counter.yaml and
takes its best checkpoint. Fails if an answer of det-submit is wrong."""

import os

from determined import errors
from determined.experimental import client


def check(got, expected):
    if got != expected:
        raise SystemExit(f"{got!r} and not {expected!r}")


experiment = client.create_experiment("counter.yaml", "code")
trial = experiment.await_first_trial()
check(trial.get_experiment().id, experiment.id)
check(trial.hparams["increment_by"], 2)
next(trial.iter_logs(follow=True))  # waits until it runs
experiment.pause()
while experiment.state is not client.ExperimentState.PAUSED:
    experiment.reload()
experiment.activate()
check(experiment.wait(interval=0.2), client.ExperimentState.COMPLETED)

experiment.set_name("counted")
experiment.set_description("by a script")
experiment.set_labels(["a", "b"])
experiment.archive()
experiment = client.get_experiment(experiment.id)
check((experiment.name, experiment.description), ("counted", "by a script"))
check((sorted(experiment.labels), experiment.archived), (["a", "b"], True))
check([each.id for each in client.list_experiments() if not each.archived], [])
experiment.unarchive()
check([each.id for each in client.list_experiments(sort_by=client.ExperimentSortBy.SEARCHER_METRIC_VAL)], [experiment.id])
check([each.id for each in client.list_experiments(states=[client.ExperimentState.ACTIVE])], [])
experiment.set_notes("as it is")
check(client.get_experiment(experiment.id).notes, "as it is")
check(experiment.progress, 1.0)
check(experiment.config["searcher"]["metric"], "x")

reports = list(trial.iter_metrics("validation"))
check([report.metrics for report in reports], [{"x": 480}])
check([each.id for each in experiment.list_trials()], [trial.id])
best = experiment.top_checkpoint()
check(best.uuid, trial.select_checkpoint(best=True).uuid)
check(best.uuid, experiment.top_checkpoint("x", False).uuid)
check(best.training.validation_metrics["avgMetrics"], {"x": 480})
check((best.training.hparams["increment_by"], best.training.experiment_id), (2, experiment.id))
check(best.metadata["steps_completed"], 60)
with open(os.path.join(best.download("best"), "state"), encoding="utf-8") as file:
    check(file.read().split(",")[:2], ["480", "60"])
check(sorted(os.listdir(experiment.download_code("its_code"))), ["counter.py"])

found = client.get_checkpoint(best.uuid)
check((found.state, found.training.trial_id), (client.CheckpointState.COMPLETED, trial.id))

model = client.create_model("counter", "counts", {"task": 1}, ["small"])
check((model.get_version(), model.labels), (None, ["small"]))
version = model.register_version(best.uuid)
check((version.model_version, version.checkpoint.uuid), (1, best.uuid))
version.set_name("first")
model.add_metadata({"tested": True})
again = client.get_model("counter")
check((again.metadata, again.get_version().name), ({"task": 1, "tested": True}, "first"))
check([each.model_id for each in client.get_models(name="count")], [model.model_id])
try:
    found.delete()
    raise SystemExit("a registered checkpoint was removed")
except client.CommandError as problem:
    check("is version 1 of the model 'counter'" in str(problem), True)
version.delete()
check(model.get_versions(), [])
model.delete()
check(client.get_models(), [])

found.add_metadata({"tested": True})
check(client.get_checkpoint(best.uuid).metadata, {**best.metadata, "tested": True})
found.remove_metadata(["tested"])
check(client.get_checkpoint(best.uuid).metadata, best.metadata)
found.remove_files(["state"])
check(client.get_checkpoint(best.uuid).state, client.CheckpointState.PARTIALLY_DELETED)
found.delete()
check(client.get_trial(trial.id).list_checkpoints(), [])
try:
    client.get_checkpoint("00000000-0000-4000-8000-000000000000")
    raise SystemExit("a checkpoint was found that does not exist")
except errors.CheckpointNotFound:
    pass
experiment.delete()
check(client.list_experiments(), [])
