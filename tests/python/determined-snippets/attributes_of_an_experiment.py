"""Names, labels and notes of an experiment, and the archive."""

from checks import EXPERIMENT_ID, check
from determined.experimental import client

experiment = client.get_experiment(EXPERIMENT_ID)
experiment.set_name("renamed")
experiment.set_description("described")
experiment.set_notes("noted")
experiment.set_labels(["a", "b"])
experiment.set_labels(["b", "c"])
experiment.archive()
experiment.reload()
check((experiment.name, experiment.description, experiment.notes), ("renamed", "described", "noted"))
check((sorted(experiment.labels), experiment.archived), (["b", "c"], True))
experiment.unarchive()
check(client.get_experiment(EXPERIMENT_ID).archived, False)
check((experiment.progress, experiment.config["searcher"]["max_trials"]), (1.0, 2))
experiment.set_name("snippets")
experiment.set_labels([])
