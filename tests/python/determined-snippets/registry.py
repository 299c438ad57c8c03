"""A model of the registry, its versions and their checkpoints."""

from checks import EXPERIMENT_ID, check
from determined.experimental import client

best, other = client.get_experiment(EXPERIMENT_ID).top_n_checkpoints(2)
model = client.create_model(name="line", description="y = 2x", metadata={"metrics": ["error"]}, labels=["small"])
first = model.register_version(other.uuid)
second = model.register_version(best.uuid)
check((first.model_version, second.model_version), (1, 2))
check(client.get_model("line").get_version().checkpoint.uuid, best.uuid)
check(model.get_version(1).checkpoint.uuid, other.uuid)
second.set_name("of this week")
second.set_notes("better")
check(model.get_version(2).notes, "better")
model.add_metadata({"task": "regression"})
model.remove_metadata(["metrics"])
check(client.get_model_by_id(model.model_id).metadata, {"task": "regression"})
model.set_labels(["small", "linear"])
check(sorted(client.get_model_labels()), ["linear", "small"])
model.archive()
check([each.name for each in client.get_models(sort_by=client.ModelSortBy.LAST_UPDATED_TIME)], ["line"])
model.unarchive()
check(len(client.list_models()), 1)
first.delete()
check([each.model_version for each in model.get_versions()], [2])
model.delete()
check(client.get_models(), [])
