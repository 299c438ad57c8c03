#pragma once
#include <chrono>
#include <cstdint>
#include <optional>

namespace det::preemption {

/// What a run that has to end does with the work since its last save.
enum class LastWork : std::uint8_t {
    save_anew,        // nothing is lost
    keep_last_saved,  // there is no time for that: what has been copied already is committed
};

/// left: until the nodes are taken away; cost: of the last checkpoint, from its copy to its commit. What is
/// not known stops nobody from saving. Pure.
LastWork choose_last_work(std::optional<std::chrono::microseconds> left,
                          std::optional<std::chrono::microseconds> cost);

}  // namespace det::preemption
