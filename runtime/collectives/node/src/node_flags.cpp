#include "node_flags.hpp"

#include "group.hpp"

namespace det::collectives::node {

Result<std::uint64_t> NodeFlags::wait(int local_rank,
                                      bool (*is_enough)(std::uint64_t value, std::uint64_t call),
                                      std::uint64_t call) {
    // Ranks that are in step see each other's words within a hand-over of a line.
    constexpr int polls_max = 300;
    for (int polls = 0; polls < polls_max && cores_ == Cores::own; ++polls) {
        if (auto const value = read(local_rank); is_enough(value, call)) return value;
    }
    DET_TRY(group_.check_usable());
    Wait wait(slot_, watch_, cores_);
    collectives::Call const reported_call{.sequence = call - 1, .kind = collectives::Kind::notice};
    for (;;) {
        auto const value = read(local_rank);
        if (is_enough(value, call)) return value;
        // Whom we wait for may wait for our part of what was started.
        DET_TRY(group_.progress());
        DET_TRY(wait.pause([&] { return std::vector<int>{local_rank}; }, reported_call));
    }
}

}  // namespace det::collectives::node
