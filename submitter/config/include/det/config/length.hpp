#pragma once
#include <cstdint>

namespace det::config {

/// How long something trains: {batches: 500}, or a bare 500 whose unit the training code knows.
struct Length {
    enum class Unit { batches, records, epochs, none };
    Unit unit = Unit::batches;
    std::int64_t count = 0;

    friend bool operator==(Length const&, Length const&) = default;
};

}  // namespace det::config
