"""Launchers with the command lines of Determined: `python3 -m determined.launch.torch_distributed ...`.

Each becomes a program of det-submit (det-launch or det-wrap-rank), which starts the ranks.
"""
