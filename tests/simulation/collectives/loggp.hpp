#pragma once
#include <functional>

#include "schedule.hpp"

namespace det::simulation {

/// What a network costs, in seconds (LogGP, and the time to combine).
struct LogGP {
    double latency = 0;    // L: on the wire
    double overhead = 0;   // o: of the processor, on either side of a message
    double per_byte = 0;   // G: of a link, which sends and receives at the same time
    double combining = 0;  // per byte
};

using ScheduleOf = std::function<collectives::Schedule(int rank)>;

/// The time until the last of the ranks has done its part: a discrete-event simulation in which each rank
/// follows its schedule. A processor is busy for o per message and while it combines; a link passes on one
/// message after the other in each direction.
double simulate(ScheduleOf const& schedule_of, int ranks, double size_bytes, LogGP const& network);

double simulate_allreduce(collectives::Algorithm algorithm, int ranks, double size_bytes, int segments,
                          LogGP const& network);

/// A ring in which all ranks do the same at the same time, by the price of one step: for as many ranks as one
/// likes.
double price_ring_by_symmetry(int ranks, double size_bytes, LogGP const& network);

/// The textbook's price where it has one: all but the double tree, for powers of two.
double allreduce_formula(collectives::Algorithm algorithm, int ranks, double size_bytes,
                         LogGP const& network);

}  // namespace det::simulation
