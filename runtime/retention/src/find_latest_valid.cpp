#include <det/retention/find_latest_valid.hpp>

#include <algorithm>
#include <vector>

namespace det::retention {

Result<std::optional<std::string>> find_latest_valid(std::span<KnownCheckpoint const> checkpoints,
                                                     std::uint32_t trial, checkpoint::Store const& store) {
    std::vector<KnownCheckpoint const*> newest_first;
    for (auto const& checkpoint : checkpoints) {
        if (checkpoint.trial == trial) newest_first.push_back(&checkpoint);
    }
    std::ranges::reverse(newest_first);
    for (auto const* checkpoint : newest_first) {
        auto const whole = store.verify_on_disk(checkpoint->uuid);
        if (whole) return std::optional(checkpoint->uuid);
        bool const is_lost =
            checkpoint::is_unusable(whole.error()) || whole.error().code == codes::no_such_checkpoint;
        if (!is_lost) return whole.error();
    }
    return std::optional<std::string>();
}

}  // namespace det::retention
