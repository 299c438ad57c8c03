#pragma once
#include <functional>

#include "agreement.hpp"
#include "schedule.hpp"

namespace det::collectives {

/// What becomes of elements on the way.
struct Reduction {
    std::size_t element_bytes = 1;
    std::function<void(std::span<std::byte> values, std::span<std::byte const> others, Side others_are)>
        combine;
    std::function<void(std::span<std::byte> values)> finish;
};

/// In pieces of this size, whole elements; `room` for two of them.
struct Pieces {
    std::size_t size_bytes = 0;
    std::span<std::byte> room;
};

/// This rank's part. Sends go on while what follows is received; a piece is combined while the next is on its
/// way.
Status run_schedule(Channel channel, Schedule const& schedule, transport::MutableBytes bytes, Pieces pieces,
                    Reduction const& reduction);

}  // namespace det::collectives
