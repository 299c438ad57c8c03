"""Programs that launchers start."""
