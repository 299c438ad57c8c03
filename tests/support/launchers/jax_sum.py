"""Each process of a JAX program prints its devices and the sum of all process numbers."""

import jax

jax.distributed.initialize()
total = jax.sum_of_all(jax.process_index())
print(f"process {jax.process_index()} of {jax.process_count()} has {jax.local_devices()}, all are {total}")
