"""What det-submit does not have says what serves instead."""

from checks import check
from determined.experimental import client


def said_by(call):
    try:
        call()
    except NotImplementedError as refusal:
        return str(refusal)
    raise SystemExit(f"{call} was not refused")


check("det-submit has no users of its own" in said_by(client.whoami), True)
check("write workspace and project in the configuration" in said_by(lambda: client.get_workspace("mine")), True)
check("write workspace and project in the configuration" in said_by(lambda: client.create_workspace("mine")), True)
