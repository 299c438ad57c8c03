import abc


class CheckpointIO(abc.ABC):
    @abc.abstractmethod
    def save_checkpoint(self, checkpoint, path, storage_options=None): ...

    @abc.abstractmethod
    def load_checkpoint(self, path, *, state=None, map_location=None, weights_only=None): ...

    @abc.abstractmethod
    def remove_checkpoint(self, path): ...

    def teardown(self): ...
