"""The classes of the model registry, under Determined's name for their module."""

from determined.experimental.client import Model, ModelOrderBy, ModelSortBy, ModelVersion

__all__ = ["Model", "ModelOrderBy", "ModelSortBy", "ModelVersion"]
