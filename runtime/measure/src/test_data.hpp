#pragma once
#include <det/collectives/rank_group.hpp>

#include <array>
#include <vector>

namespace det::measure {

/// The input of a rank and the expected result. The input consists of small integers, so that every type
/// represents it exactly; expected sums are rounded once, or wrap around in uint8.
class TestData {
public:
    /// \param input the memory of call.in.
    TestData(collectives::TensorCall const& call, std::byte* input, Rank rank, int ranks);

    /// Writes the input, on ranks that have one.
    void fill();
    /// Fills the output with bytes that differ from the result, so that missing writes are found. Exception:
    /// in uint8 some sums wrap to the same byte, for example those of 30 ranks. Must be called before fill(),
    /// because input and output may be the same memory.
    void poison();
    /// The number of wrong elements in this rank's output.
    std::uint64_t count_wrong() const;

private:
    static constexpr std::size_t period = 5;  // the input values repeat after this many elements

    /// Returns the input value of rank `rank` at `index`.
    static std::int64_t value_of(int rank, std::size_t index);
    std::int64_t expected_at(std::size_t index) const;
    bool gets_result() const;

    collectives::TensorCall call_;
    std::byte* input_;
    int rank_, ranks_;
    std::array<std::int64_t, period> sums_{};
    std::vector<std::byte> pattern_;  // many periods of the input
};

}  // namespace det::measure
