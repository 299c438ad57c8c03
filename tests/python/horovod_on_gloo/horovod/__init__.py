"""Horovod's calls that PyTorchTrial makes, by torch.distributed, for machines without Horovod. Wrong uses are refused as by Horovod."""
