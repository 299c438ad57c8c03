"""The calls of Horovod that PyTorchTrial makes, implemented by torch.distributed, for machines without
Horovod. Refuses wrong uses as Horovod does."""
