#pragma once
#include <random>
#include <span>
#include <string_view>

#include "training.hpp"

namespace det::faults {

/// What becomes of the run that a fault strikes.
enum class Aftermath {
    goes_on,      // the same run, or another one: both will do
    fails,        // another run takes its place, and the trainer is blamed
    is_queued,    // the job goes back to the queue
    is_canceled,  // the experiment is over, until it is continued
};

struct Fault {
    std::string_view name;
    Aftermath aftermath;
    Status (*strike)(Training const& training, std::mt19937& random);
};

std::span<Fault const> all_faults();

}  // namespace det::faults
