"""Experiments by state, label, name and in several orders."""

from checks import EXPERIMENT_ID, check
from determined.experimental import client
from determined.experimental.client import ExperimentSortBy, ExperimentState, OrderBy

experiment = client.get_experiment(EXPERIMENT_ID)
experiment.add_label("listed")
check([each.id for each in client.list_experiments(labels=["listed"])], [EXPERIMENT_ID])
check(EXPERIMENT_ID in [each.id for each in client.list_experiments(states=[ExperimentState.COMPLETED])], True)
check(client.list_experiments(states=[ExperimentState.ACTIVE], experiment_ids=[EXPERIMENT_ID]), [])
check([each.id for each in client.list_experiments(name="SNIP", experiment_ids=[EXPERIMENT_ID])], [EXPERIMENT_ID])
newest = client.list_experiments(sort_by=ExperimentSortBy.ID, order_by=OrderBy.DESCENDING)
check([each.id for each in newest], sorted((each.id for each in newest), reverse=True))
started = client.list_experiments(sort_by=ExperimentSortBy.START_TIME, order_by=OrderBy.ASCENDING)
check([each.start_time for each in started], sorted(each.start_time for each in started))
experiment.remove_label("listed")
