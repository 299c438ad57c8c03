"""Times as det-submit prints them."""

import datetime


def parse_time(text: str) -> datetime.datetime:
    """The time of a text such as 2026-11-21T12:00:00Z or 2026-11-21T12:00:00.250000Z, with the time zone UTC."""
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
