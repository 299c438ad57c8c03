# Runs on each node before the entrypoint.
mpicxx -O2 pi.cpp -o pi
