"""Launchers with the command lines of Determined: `python3 -m determined.launch.torch_distributed ...`.

Each replaces its process by a program of det-submit: det-launch, which starts the ranks, or det-wrap-rank.
"""
