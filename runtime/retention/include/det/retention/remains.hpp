#pragma once
#include <det/checkpoint/store.hpp>
#include <det/protocol/layout.hpp>

#include <functional>

namespace det::retention {

/// What is left of a checkpoint that a run has begun and never committed: it was killed, say.
struct Remains {
    std::string uuid;
    std::uint32_t trial = 0;
    std::uint32_t run = 0;
};

/// Of an experiment, as far as its journals know who began what. The newest run of a trial that is not over
/// may be writing: what it has begun is left alone.
Result<std::vector<Remains>> find_remains(ExperimentLayout const& experiment, checkpoint::Store const& store,
                                          std::function<bool(std::uint32_t trial)> const& is_over);

}  // namespace det::retention
