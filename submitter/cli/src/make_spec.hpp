#pragma once
#include <det/protocol/experiment_spec.hpp>

#include "creation.hpp"

namespace det::cli {

struct Authorship {
    std::string owner;
    UtcTime time;
};

/// What jobs will know of the experiment: the only configuration that code in jobs reads. Pure.
ExperimentSpec make_spec(Creation const& creation, ExperimentId id, std::optional<ContextSpec> const& context,
                         Authorship const& created);

}  // namespace det::cli
