#pragma once
#include <det/collectives/rank_group.hpp>

#include <array>
#include <vector>

namespace det::measure {

/// What a rank puts into a call, and what has to come out of it: small whole numbers, of which every type
/// holds sums exactly, or rounded once.
class TestData {
public:
    /// input: the memory of call.in.
    TestData(collectives::TensorCall const& call, std::byte* input, Rank rank, int ranks);

    /// Writes the input anew.
    void fill();
    /// Fills the output with what no result is, so that what was not written shows. Before fill(), since they
    /// may be the same memory.
    void poison();
    /// Elements of this rank's output that are not as they should be.
    std::uint64_t count_wrong() const;

private:
    static constexpr std::size_t period = 5;  // of what a rank puts in, by index

    /// What rank `rank` puts in at `index`.
    static std::int64_t value_of(int rank, std::size_t index);
    std::int64_t expected_at(std::size_t index) const;
    bool gets_result() const;

    collectives::TensorCall call_;
    std::byte* input_;
    int rank_, ranks_;
    std::array<std::int64_t, period> sums_{};
    std::vector<std::byte> pattern_;  // of the input, a multiple of its period
};

}  // namespace det::measure
