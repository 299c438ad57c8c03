"""A training by torch that saves its state while it trains. It reports a number made of the bits of all of its state."""

import random
import sys
import time
import zlib

import determined as det
import torch

STEPS, PERIOD = 300, 7

info = det.get_cluster_info()
pause_s = info.trial.hparams["pause_s"]
torch.set_num_threads(1)
torch.manual_seed(1)
random.seed(1)
model = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.Dropout(0.2), torch.nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 50)


def make_state(step):
    return {
        "model": model,
        "optimizer": optimizer,
        "scheduler": scheduler,
        "step": step,
        "random": {"torch": torch.get_rng_state(), "python": random.getstate()},
    }


with det.core.init() as context:
    checkpoint = context.checkpoint
    state = make_state(0)
    if checkpoint.load_state(state):
        print(f"continuing at step {state['step']}", flush=True)
        torch.set_rng_state(state["random"]["torch"])
        random.setstate(state["random"]["python"])
    for step in range(state["step"] + 1, STEPS + 1):
        x = torch.rand(16, 8) * random.random()
        loss = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        time.sleep(pause_s)
        if step == 1:
            context.train.report_training_metrics(step, {"loss": loss.item()})
        if context.preempt.should_preempt():
            checkpoint.save_state_before_preemption(make_state(step), step)
            sys.exit(0)
        if step % PERIOD == 0:
            checkpoint.save_state(make_state(step), step)
        checkpoint.poll()
    bits = zlib.crc32(torch.get_rng_state().numpy().tobytes())
    for value in [*model.state_dict().values(), *(each["exp_avg_sq"] for each in optimizer.state.values())]:
        bits = zlib.crc32(value.detach().numpy().tobytes(), bits)
    context.train.report_validation_metrics(STEPS, {"bits": bits})
