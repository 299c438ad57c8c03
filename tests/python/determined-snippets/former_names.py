"""Names of Determined's older releases."""

import warnings

from checks import EXPERIMENT_ID, check

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from determined.common.experimental.checkpoint import Checkpoint
    from determined.common.experimental.experiment import ExperimentReference
    from determined.common.experimental.trial import TrialOrderBy, TrialReference, TrialSortBy
    from determined.experimental import Determined, checkpoint

reference = Determined().get_experiment(EXPERIMENT_ID)
check(isinstance(reference, ExperimentReference), True)
check(isinstance(reference.top_checkpoint(), Checkpoint), True)
check(Checkpoint, checkpoint.Checkpoint)
(trial, _) = reference.get_trials(TrialSortBy.ID, TrialOrderBy.ASCENDING)
check(isinstance(trial, TrialReference), True)
check(reference.top_checkpoint().training.experiment_config["hyperparameters"]["global_batch_size"], 4)
