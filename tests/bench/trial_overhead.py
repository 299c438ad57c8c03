"""trial_overhead.py: the row of trial-overhead. It starts the ranks, which are this program with RANK set.

In which memory the tensors of a model lie decides about up to a twelfth of the time of its steps, and the model that is made first
is at a disadvantage. So the pairs come from several processes, and each of the two models is the first one in half of them.
"""

import json
import os
import sys
import time

from local_ranks import run_ranks

RANKS = 2
STARTS = 4
STEPS = 101  # of one run of a pair; the time between the first and the last is taken
FEATURES, HIDDEN, BATCH = 512, 1024, 4  # 1.05 million parameters; a step of about 10 ms


def run_rank():
    import torch
    from determined import pytorch
    from determined.pytorch._init import make_context
    from determined.pytorch._optimizations import Optimizations
    from python_rows import PAIRS, interleave

    data = torch.utils.data.TensorDataset(torch.randn(STEPS * RANKS * BATCH, FEATURES))

    def make_network():
        return torch.nn.Sequential(
            torch.nn.Linear(FEATURES, HIDDEN), torch.nn.ReLU(), torch.nn.Linear(HIDDEN, FEATURES)
        )

    class Trial(pytorch.PyTorchTrial):
        def __init__(self, context):
            self.context = context
            self.model = context.wrap_model(make_network())
            self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=0.01))

        def build_training_data_loader(self):
            return pytorch.DataLoader(data, batch_size=BATCH, shuffle=True)

        def build_validation_data_loader(self):
            return pytorch.DataLoader(torch.utils.data.Subset(data, range(RANKS * BATCH)), batch_size=BATCH)

        def train_batch(self, batch, epoch_idx, batch_idx):
            if batch_idx == 0:
                self.begun = time.perf_counter()
            elif batch_idx == STEPS - 1:
                self.seconds = time.perf_counter() - self.begun
            loss = (self.model(batch[0]) - batch[0]).square().mean()
            self.context.backward(loss)
            self.context.step_optimizer(self.optimizer)
            return {"loss": loss}

        def evaluate_batch(self, batch):
            return {"loss": (self.model(batch[0]) - batch[0]).square().mean()}

    torch.set_num_threads(1)
    os.chdir(os.environ["TMPDIR"])  # a checkpoint contains the files of the working directory
    with make_context({"global_batch_size": RANKS * BATCH}, None, None, Optimizations()) as context:
        trial = Trial(context) if os.environ["FIRST"] == "trial" else None
        bare = torch.nn.parallel.DistributedDataParallel(make_network())
        trial = trial or Trial(context)
        optimizer = torch.optim.SGD(bare.parameters(), lr=0.01)
        sampler = torch.utils.data.DistributedSampler(data)
        loader = torch.utils.data.DataLoader(data, batch_size=BATCH, sampler=sampler)

        def train_trial():
            torch.distributed.barrier()
            pytorch.Trainer(trial, context).fit(
                max_length=pytorch.Batch(STEPS), reporting_period=pytorch.Batch(10), checkpoint_policy="none"
            )
            return trial.seconds / (STEPS - 1)

        def train_bare():
            torch.distributed.barrier()
            for step, (inputs,) in enumerate(loader):
                if step == 0:
                    begun = time.perf_counter()
                elif step == STEPS - 1:
                    seconds = time.perf_counter() - begun
                loss = (bare(inputs) - inputs).square().mean()
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
            return seconds / (STEPS - 1)

        pairs = interleave(train_trial, train_bare, -(-PAIRS // STARTS))
        if context.distributed.rank == 0:
            with open(os.environ["PAIRS_FILE"], "a") as file:
                file.writelines(json.dumps(pair) + "\n" for pair in pairs)


def main():
    from python_rows import print_row

    pairs_file = os.path.join(os.environ["TMPDIR"], "pairs")
    for start in range(STARTS):
        code = run_ranks(os.path.abspath(__file__), RANKS, FIRST=("trial", "bare")[start % 2], PAIRS_FILE=pairs_file)
        if code != 0:
            sys.exit(code)
    with open(pairs_file) as file:
        print_row("trial-overhead", [json.loads(line) for line in file], "s")


run_rank() if "RANK" in os.environ else main()
