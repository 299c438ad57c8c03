"""Writers of metrics, as in older releases of Determined."""
