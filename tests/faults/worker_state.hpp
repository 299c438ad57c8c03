#pragma once
#include <det/checkpoint/state.hpp>

#include <numeric>
#include <vector>

/// The state that a rank of the workers saves. The seed determines its values.
struct WorkerState {
    static constexpr std::uint64_t own = 10'000;
    std::vector<std::int64_t> values = std::vector<std::int64_t>(own);
    det::checkpoint::State state;

    WorkerState(int rank, std::int64_t seed)
        : state{det::tensor::NamedTensor::slice("values", det::tensor::DataType::int64, {2 * own},
                                                {{static_cast<std::uint64_t>(rank) * own}, {own}},
                                                values.data())} {
        std::iota(values.begin(), values.end(), seed * 1'000'000 + rank);
    }
    WorkerState(WorkerState const&) = delete;
    WorkerState& operator=(WorkerState const&) = delete;
};
