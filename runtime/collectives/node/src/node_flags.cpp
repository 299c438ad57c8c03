#include "node_flags.hpp"

#include "group.hpp"

namespace det::collectives::node {

Result<std::uint64_t> NodeFlags::wait(int local_rank, IsEnough is_enough,
                                      collectives::NamedCall const& call) {
    // If ranks call at the same time, they see each other's flags after one transfer of a cache line.
    constexpr int polls_max = 300;
    for (int polls = 0; polls < polls_max && cores_ == Cores::own; ++polls) {
        if (auto const value = read(local_rank); is_enough(value, call.number)) return value;
    }
    DET_TRY(group_.check_usable());
    Wait wait(slot_, watch_, cores_);
    for (;;) {
        auto const value = read(local_rank);
        if (is_enough(value, call.number)) return value;
        // The awaited rank may wait for this rank's part of a started operation.
        DET_TRY(group_.progress());
        DET_TRY(wait.pause([&] { return std::vector<int>{local_rank}; }, call));
    }
}

}  // namespace det::collectives::node
