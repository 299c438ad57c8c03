#pragma once
#include <functional>

#include "schedule.hpp"

namespace det::simulation {

/// The costs of a network in seconds: the LogGP model, and the time to combine.
struct LogGP {
    double latency = 0;    // L: on the wire
    double overhead = 0;   // o: of the processor, on either side of a message
    double per_byte = 0;   // G: of a link, which sends and receives at the same time
    double combining = 0;  // per byte
};

using ScheduleOf = std::function<collectives::Schedule(int rank)>;

/// Returns the time in seconds until all ranks have executed their schedules, by a discrete-event simulation.
/// A processor is busy for o per message and while it combines. A link carries one message after the other in
/// each direction.
double simulate(ScheduleOf const& schedule_of, int ranks, double size_bytes, LogGP const& network);

/// An operation by one of its algorithms. Its size is the one by which the library chooses the algorithm; its
/// root is rank 0.
struct Plan {
    collectives::Kind kind = collectives::Kind::allreduce;
    collectives::Algorithm algorithm = collectives::Algorithm::ring;
    int segments = 1;
};
double simulate(Plan const& plan, int ranks, double size_bytes, LogGP const& network);

/// Whether all ranks do the same at the same time, so that all steps take as long as one.
bool is_symmetric(Plan const& plan);
/// Returns the time of a symmetric plan from the simulation of one step, for any number of ranks.
double price_by_symmetry(Plan const& plan, int ranks, double size_bytes, LogGP const& network);

/// The time by the formula of the literature if it has one for powers of two (is_exact); otherwise a lower
/// bound.
struct Formula {
    double seconds = 0;
    bool is_exact = true;
};
Formula formula_for(Plan const& plan, int ranks, double size_bytes, LogGP const& network);

}  // namespace det::simulation
