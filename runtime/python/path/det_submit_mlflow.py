"""The module that the MLflow entry point beside this file names. MLflow imports it in each program that
imports mlflow, before MLflow's own stores can be imported: so this module imports the store only when
open_store() is called."""

from typing import Any, Optional


def open_store(store_uri: Optional[str] = None, artifact_uri: Optional[str] = None) -> Any:
    """The tracking store of the scheme `det-submit`."""
    from determined._mlflow_store import TrackingStore

    return TrackingStore(store_uri, artifact_uri)
