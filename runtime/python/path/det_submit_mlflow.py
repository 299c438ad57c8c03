"""What MLflow finds by the entry point beside this file. MLflow imports it in each program that imports mlflow, and before its own
stores can be imported, so that it imports nothing until the store is wanted."""

from typing import Any, Optional


def open_store(store_uri: Optional[str] = None, artifact_uri: Optional[str] = None) -> Any:
    """The tracking store of the scheme `det-submit`."""
    from determined._mlflow_store import TrackingStore

    return TrackingStore(store_uri, artifact_uri)
