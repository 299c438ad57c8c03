#pragma once
#include <det/protocol/layout.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace det::launch::supervisor {

/// Whether the nodes of a run still live, by the files that their wrappers touch every few seconds. A node is
/// silent once its file is there and has stayed as it is for several looks; one without a file has not begun,
/// or has ended. Where all have ended and the step has not, nobody lives who could tell srun: the first is
/// silent then.
class Pulses {
public:
    Pulses(RunLayout run, int nodes) : run_(std::move(run)), seen_(static_cast<std::size_t>(nodes)) {}

    /// To be called at intervals longer than that of the beats. The number of a node that is silent.
    std::optional<int> look();
    /// The time between two looks was no measure: we were held up ourselves.
    void start_over();

private:
    struct Seen {
        std::int64_t beat_ns = 0;
        int unchanged = 0;
        bool has_begun = false;
    };
    RunLayout run_;
    std::vector<Seen> seen_;
    int checks_without_any_ = 0;
};

}  // namespace det::launch::supervisor
