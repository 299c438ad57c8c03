"""Times as det-submit prints them."""

import datetime
from typing import Union


def parse_time(text: str) -> datetime.datetime:
    """The time of a text such as 2026-11-21T12:00:00Z or 2026-11-21T12:00:00.250000Z, with the time zone UTC."""
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


def format_time(time: Union[str, int, datetime.datetime]) -> str:
    """A time as det-submit reads it. time: such a text, or seconds since 1970, or a datetime, without a time zone UTC."""
    if isinstance(time, str):
        return time
    if isinstance(time, int):
        time = datetime.datetime.fromtimestamp(time, datetime.timezone.utc)
    utc = time.replace(tzinfo=datetime.timezone.utc) if time.tzinfo is None else time.astimezone(datetime.timezone.utc)
    return utc.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
