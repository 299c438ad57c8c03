"""A batch inference over all slots with the best checkpoint of an experiment."""

import determined as det
import torch
from determined import pytorch
from determined.experimental import client
from determined.pytorch import experimental


class Predict(experimental.TorchBatchProcessor):
    def __init__(self, context):
        self.context = context
        hparams = det.get_cluster_info().trial.hparams
        checkpoint = client.get_experiment(hparams["experiment_id"]).top_checkpoint()
        path = checkpoint.download(f"{checkpoint.uuid}-{context.get_distributed_rank()}")
        self.model = context.prepare_model_for_inference(pytorch.load_trial_from_checkpoint_path(path).model)

    def process_batch(self, batch, batch_idx) -> None:
        with torch.no_grad():
            predicted = self.model(context_tensor(self.context, batch))
        with self.context.upload_path() as path:
            torch.save(predicted, path / f"batch-{batch_idx}.pt")


def context_tensor(context, batch):
    return context.to_device(batch).unsqueeze(1)


if __name__ == "__main__":
    experimental.torch_batch_process(Predict, torch.arange(10.0), batch_size=2)
