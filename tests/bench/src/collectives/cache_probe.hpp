#pragma once

namespace det::bench {

/// Nanoseconds that a cache line takes to another core and back; the two cores must be free. On a virtual
/// machine it changes with where the host runs it, by a factor of five, for seconds at a time.
double cache_round_trip_ns();

}  // namespace det::bench
