#pragma once
#include <cstdint>

namespace det::config {

/// A training length: {batches: 500}, or a plain 500 in a unit that the training code defines.
struct Length {
    enum class Unit { batches, records, epochs, none };
    Unit unit = Unit::batches;
    std::int64_t count = 0;

    friend bool operator==(Length const&, Length const&) = default;
};

}  // namespace det::config
