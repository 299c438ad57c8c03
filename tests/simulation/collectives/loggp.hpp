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

/// An operation as the library does it. Sizes are those by which it chooses; the root is rank 0.
struct Plan {
    collectives::Kind kind = collectives::Kind::allreduce;
    collectives::Algorithm algorithm = collectives::Algorithm::ring;
    int segments = 1;
};
double simulate(Plan const& plan, int ranks, double size_bytes, LogGP const& network);

/// Whether all ranks do the same at the same time, so that one step tells what all cost.
bool is_symmetric(Plan const& plan);
/// Of a ring that all ranks go round together: for as many ranks as one likes.
double price_by_symmetry(Plan const& plan, int ranks, double size_bytes, LogGP const& network);

/// The textbook's price where it has one, for powers of two; else what it costs at least.
struct Formula {
    double seconds = 0;
    bool is_exact = true;
};
Formula formula_for(Plan const& plan, int ranks, double size_bytes, LogGP const& network);

}  // namespace det::simulation
