"""Functions of wandb.util that published scripts call."""

import random
import string


def generate_id(length: int = 8) -> str:
    """A random name of lower-case letters and digits, which does not depend on the script's seeds."""
    return "".join(random.SystemRandom().choices(string.ascii_lowercase + string.digits, k=length))
