"""Distributed inference: all ranks apply a model to a data set. It continues after a preemption.

    class Predict(TorchBatchProcessor):
        def __init__(self, context):
            self.context = context
            self.model = context.prepare_model_for_inference(load_model())

        def process_batch(self, batch, batch_idx):
            with torch.no_grad():
                output = self.model(self.context.to_device(batch))
            with self.context.upload_path() as path:
                torch.save(output, path / f"batch-{batch_idx}.pt")

    torch_batch_process(Predict, dataset, batch_size=64)
"""

from determined.pytorch.experimental._batch_process import torch_batch_process
from determined.pytorch.experimental._batch_processor import TorchBatchProcessor, TorchBatchProcessorContext

__all__ = ["TorchBatchProcessor", "TorchBatchProcessorContext", "torch_batch_process"]
