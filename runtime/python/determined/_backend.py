"""Which library connects the ranks."""

import os


class _DistributedBackend:
    """The library that the launcher of this process has chosen. det-launch sets the variables."""

    HOROVOD = "USE_HOROVOD"
    TORCH = "USE_TORCH_DISTRIBUTED"
    DEEPSPEED = "USE_DEEPSPEED"

    def use_horovod(self) -> bool:
        """Whether the ranks were started by horovodrun."""
        return bool(os.environ.get(self.HOROVOD))

    def use_torch(self) -> bool:
        """Whether the ranks were started by torch.distributed.run."""
        return bool(os.environ.get(self.TORCH))

    def use_deepspeed(self) -> bool:
        """Whether the ranks were started by deepspeed."""
        return bool(os.environ.get(self.DEEPSPEED))
