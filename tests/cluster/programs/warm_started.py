"""Says whether the interpreter had imported torch before the program began, then trains as kept_in_memory.py does."""

import runpy
import sys

print(f"torch was there: {'torch' in sys.modules}", flush=True)
runpy.run_path("kept_in_memory.py", run_name="__main__")
