"""Exceptions with Determined's names, for `except` clauses. client raises a CommandError, which is an
APIException, or a NotFoundException if a named thing does not exist."""

from typing import Any


class BadRequestException(Exception):
    """A request can't be carried out.

    Attributes:
        message: why
    """

    def __init__(self, message: str, *args: Any) -> None:
        super().__init__(message, *args)
        self.message = message

    def __str__(self) -> str:
        return self.message


class BadResponseException(BadRequestException):
    """An answer can't be used."""


class EmptyResultException(BadResponseException):
    """An answer is empty."""


class MasterNotFoundException(BadRequestException):
    """There is no master. Never raised."""


class APIException(BadRequestException):
    """A request has failed.

    Attributes:
        status_code: as an HTTP server would give it
    """

    status_code = 500


class NotFoundException(APIException):
    """A named thing does not exist."""

    status_code = 404


class ForbiddenException(BadRequestException):
    """The user may not do this."""


class UnauthenticatedException(BadRequestException):
    """The user is not known. Never raised."""


class DeleteFailedException(APIException):
    """A thing could not be deleted."""
