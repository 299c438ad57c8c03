"""The YAML library that is installed: ruamel.yaml, which Determined uses, or else PyYAML."""

try:
    from ruamel.yaml import *  # noqa: F403
except ImportError:
    try:
        from yaml import *  # noqa: F403
    except ImportError:
        raise ImportError("determined.common.yaml needs ruamel.yaml or PyYAML") from None
