"""Reads digits by a trained DigitsTrial, on all ranks. Each batch becomes a file with the digits that the model sees."""

import json
import logging

import determined as det
import torch
from determined import pytorch
from determined.experimental import client
from determined.pytorch import experimental
from model_def import DigitsTrial, make_data


class ReadDigits(experimental.TorchBatchProcessor):
    def __init__(self, context):
        self.context = context
        checkpoint = client.get_checkpoint(context.get_hparams()["checkpoint"])
        path = checkpoint.download(f"checkpoint-{context.get_distributed_rank()}")
        trial = pytorch.load_trial_from_checkpoint_path(path, trial_class=DigitsTrial)
        self.model = context.prepare_model_for_inference(trial.model)
        self.accuracy = context.wrap_reducer(lambda found: sum(found) / len(found), "accuracy")

    def process_batch(self, batch, batch_idx):
        inputs, labels = self.context.to_device(batch)
        with torch.no_grad():
            digits = self.model(inputs).argmax(dim=1)
        self.accuracy.update((digits == labels).float().mean().item())
        with self.context.upload_path() as path:
            (path / f"batch-{batch_idx}.json").write_text(json.dumps(digits.tolist()))


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    experimental.torch_batch_process(ReadDigits, make_data(1000, 3), batch_size=20)
