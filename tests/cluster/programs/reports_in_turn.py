"""The ranks report metrics in turn, as those of Determined's example unmanaged/3_torch_distributed.py do."""

import determined as det


def main():
    distributed = det.core.DistributedContext.from_torch_distributed()
    with det.core.init(distributed=distributed) as context:
        for step in range(100):
            if step % distributed.size != distributed.rank:
                continue
            context.train.report_training_metrics(step, {"loss": 1 / (step + 1)})
            if (step + 1) % 10 == 0:
                context.train.report_validation_metrics(step, {"x": step})


main()
