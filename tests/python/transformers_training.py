"""A training by the Trainer of transformers for test_transformers.py, which chooses its arguments by TEST_ARGUMENTS."""

import glob
import json
import logging
import os
import signal
import subprocess
import time

import determined as det
import torch
from determined.transformers import DetCallback
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments, set_seed


class Counting(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        numbers = (index + torch.arange(6)) % 11
        return {"input_ids": numbers, "labels": numbers}


class RaiseNotice(TrainerCallback):
    """Raises the preemption notice at the end of a step, and stops the training at the end of one."""

    def on_step_end(self, args, state, control, **_):
        if state.global_step == int(os.environ.get("TEST_STOP_AT", -1)):
            control.should_training_stop = True
        if state.is_world_process_zero and state.global_step == int(os.environ.get("TEST_PREEMPT_AT", -1)):
            subprocess.run(os.environ["TEST_PREEMPT_COMMAND"].split(), check=True)

    def on_evaluate(self, args, state, control, **_):
        if state.global_step == int(os.environ.get("TEST_EVALUATION_STOPS_AT", -1)):
            control.should_training_stop = True


class KillAtStep(TrainerCallback):
    """Kills the rank before the step that follows TEST_KILL_AT, when the state of that step is kept in memory."""

    def __init__(self, ranks, checkpoint):
        self.ranks, self.checkpoint = ranks, checkpoint
        self.step = int(os.environ.get("TEST_KILL_AT", -1))

    def on_step_begin(self, args, state, control, **_):
        if state.global_step == self.step - 2:
            self.checkpoint.wait()  # while a checkpoint is written no state is kept
        if state.global_step == self.step:
            kept = f"0.{self.step}.{self.ranks.rank}of{self.ranks.size}"
            limit = time.monotonic() + 60
            while not glob.glob(f"/dev/shm/det-memory-*-{os.environ['DET_RUN_JOB']}-*/{kept}"):
                assert time.monotonic() < limit, f"the state of step {self.step} was not kept"
                time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGKILL)

    def on_save(self, args, state, control, **_):
        print(f"step {state.global_step}: {len(self.checkpoint._in_flight)} being written")


def main():
    logging.basicConfig(level=logging.INFO)
    arguments = TrainingArguments(
        os.environ.get("TEST_OUTPUT", "output"), per_device_train_batch_size=4, report_to="none", disable_tqdm=True, seed=7,
        **{"use_cpu": True, "ddp_backend": "gloo", **json.loads(os.environ["TEST_ARGUMENTS"])}
    )
    if "TEST_OTHER_NODE" in os.environ:
        publish = os.replace

        def replace_on_two_nodes(source, target):
            """Another node writes and replaces its file first; if it has the same name, this one's is gone."""
            if os.path.basename(target) == "trainer_state.json":
                other = f"{target}.new"
                with open(other, "w") as file:
                    file.write("{}")
                publish(other, target)
            publish(source, target)

        os.replace = replace_on_two_nodes
    ranks = det.core.DistributedContext.from_torch_distributed()
    with det.core.init(distributed=ranks) as core_context:
        set_seed(7)
        model = GPT2LMHeadModel(GPT2Config(vocab_size=11, n_positions=8, n_embd=8, n_layer=1, n_head=2))
        data = Counting()
        trainer = Trainer(model, arguments, train_dataset=data, eval_dataset=data)
        trainer.add_callback(RaiseNotice())
        trainer.add_callback(DetCallback(core_context, arguments, **json.loads(os.environ.get("TEST_CALLBACK", "{}"))))
        trainer.add_callback(KillAtStep(ranks, core_context.checkpoint))
        trainer.train(resume_from_checkpoint=arguments.resume_from_checkpoint)
        if "TEST_EVALUATES" in os.environ:
            trainer.evaluate()
        print(f"rank {ranks.rank} has trained {trainer.state.global_step} steps")
        print("final weights", sum(float(each.detach().double().sum()) for each in trainer.model.parameters()))


if __name__ == "__main__":
    main()
