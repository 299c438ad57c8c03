#pragma once
#include "driver.hpp"

namespace det::gpu {

/// Collectives of one rank on device memory: values, streams, operations in flight, refused arguments, rates.
void check_collectives(Driver const& driver);

/// Checkpoints of device tensors: bits, the time that a save blocks, loads.
void check_checkpoints(Driver const& driver);

/// Two processes that use the same device. Called before this process uses the driver.
void check_two_ranks();

}  // namespace det::gpu
