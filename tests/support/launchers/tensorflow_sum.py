"""Each worker of a TensorFlow program prints TF_CONFIG and the ranks that it finds."""

import os

import determined as det

ranks, strategy = det.core.DistributedContext.from_tf_config()
with det.core.init(distributed=ranks):
    print(type(strategy).__name__, ranks.allgather(ranks.rank), os.environ["TF_CONFIG"])
