import abc


class Logger(abc.ABC):
    @property
    @abc.abstractmethod
    def name(self): ...

    @property
    @abc.abstractmethod
    def version(self): ...

    @property
    def root_dir(self):
        return None

    @property
    def log_dir(self):
        return None

    @property
    def save_dir(self):
        return None

    @abc.abstractmethod
    def log_metrics(self, metrics, step=None): ...

    @abc.abstractmethod
    def log_hyperparams(self, params, *args, **kwargs): ...

    def save(self): ...

    def finalize(self, status):
        self.save()
