"""A small GPT-2 learns to count up by steps of 1 to 7, modulo 31. It is made from its configuration: nothing is downloaded."""

import determined as det
import torch
from determined.transformers import DetCallback
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed


def count_up(indices):
    lines = [(index + torch.arange(12) * (1 + index % 7)) % 31 for index in indices]
    return [{"input_ids": numbers, "labels": numbers} for numbers in lines]


trial = det.get_cluster_info().trial
set_seed(trial.trial_seed)
arguments = TrainingArguments(
    "output", max_steps=trial.hparams["max_steps"], learning_rate=trial.hparams["lr"], seed=trial.trial_seed,
    use_cpu=not torch.cuda.is_available(), ddp_backend=None if torch.cuda.is_available() else "gloo",
    logging_steps=10, eval_strategy="steps", eval_steps=50, save_steps=50, report_to="none", disable_tqdm=True,
)  # fmt: skip
with det.core.init(distributed=det.core.DistributedContext.from_torch_distributed()) as core_context:
    model = GPT2LMHeadModel(GPT2Config(vocab_size=31, n_positions=16, n_embd=32, n_layer=2, n_head=2))
    trainer = Trainer(model, arguments, train_dataset=count_up(range(4096)), eval_dataset=count_up(range(4096, 4352)))
    trainer.add_callback(DetCallback(core_context, arguments))
    trainer.train(resume_from_checkpoint=arguments.resume_from_checkpoint)
