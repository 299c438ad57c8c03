#pragma once
#include <random>
#include <span>
#include <string_view>

#include "training.hpp"

namespace det::faults {

/// What happens to the run after a fault.
enum class Aftermath {
    continues,    // the same run or another one
    fails,        // another run follows; it counts as a failure of the training program
    is_requeued,  // the job is requeued
    is_canceled,  // the experiment ends until it is continued
};

struct Fault {
    std::string_view name;
    Aftermath aftermath;
    Status (*inject)(Training const& training, std::mt19937& random);
};

std::span<Fault const> all_faults();

}  // namespace det::faults
