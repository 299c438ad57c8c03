"""Rank 2 raises an exception; the other ranks wait for ever."""
import os
import threading

if os.environ["RANK"] == "2":
    raise ValueError("rank 2 has no data")
threading.Event().wait()
