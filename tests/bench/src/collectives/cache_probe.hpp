#pragma once

namespace det::bench {

/// The round trip of a cache line between two idle cores, in nanoseconds. On a virtual machine it may be five
/// times as long for seconds at a time, depending on the placement of the virtual CPUs.
double cache_round_trip_ns();

}  // namespace det::bench
