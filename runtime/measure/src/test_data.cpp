#include "test_data.hpp"

#include <det/collectives/reduction.hpp>

#include <algorithm>
#include <cstring>

namespace det::measure {
namespace {

using collectives::DataType, collectives::Kind, collectives::TensorCall;

constexpr std::byte poison_byte{0x5a};

template <class T>
void put(std::int64_t value, std::byte* to) {
    auto const element = static_cast<T>(value);
    std::memcpy(to, &element, sizeof element);
}

void put_half(DataType type, std::int64_t value, std::byte* to) {
    auto const wide = static_cast<float>(value);
    collectives::narrow(type, &wide, to, 1);
}

void encode(DataType type, std::int64_t value, std::byte* to) {
    switch (type) {
        case DataType::uint8:
            return put<std::uint8_t>(value, to);
        case DataType::int32:
            return put<std::int32_t>(value, to);
        case DataType::int64:
            return put<std::int64_t>(value, to);
        case DataType::float32:
            return put<float>(value, to);
        case DataType::float64:
            return put<double>(value, to);
        case DataType::float16:
        case DataType::bfloat16:
            return put_half(type, value, to);
        default:
            return;  // collectives refuse the other types
    }
}

}  // namespace

TestData::TestData(TensorCall const& call, std::byte* input, Rank rank, int ranks)
    : call_(call), input_(input), rank_(rank.value), ranks_(ranks) {
    for (std::size_t i = 0; i < period; ++i) {
        for (int other = 0; other < ranks; ++other) sums_[i] += value_of(other, i);
    }
    constexpr std::size_t periods = 4096;  // copying a pattern is faster than filling element by element
    auto const size = collectives::size_of(call.in.type);
    pattern_.resize(period * periods * size);
    for (std::size_t i = 0; i < period * periods; ++i)
        encode(call.in.type, value_of(rank_, i), &pattern_[i * size]);
}

std::int64_t TestData::value_of(int rank, std::size_t index) {
    return 1 + static_cast<std::int64_t>((index + 2 * static_cast<std::size_t>(rank)) % period);
}

void TestData::fill() {
    bool const has_input = call_.kind != Kind::broadcast || rank_ == call_.root.value;
    if (!has_input) return;
    auto const size = bytes_of(call_.in).size();
    for (std::size_t at = 0; at < size; at += pattern_.size())
        std::memcpy(input_ + at, pattern_.data(), std::min(pattern_.size(), size - at));
}

void TestData::poison() { std::ranges::fill(bytes_of(call_.out), poison_byte); }

bool TestData::gets_result() const { return call_.kind != Kind::reduce || rank_ == call_.root.value; }

std::int64_t TestData::expected_at(std::size_t index) const {
    auto const own = static_cast<std::size_t>(rank_);
    switch (call_.kind) {
        case Kind::broadcast:
            return value_of(call_.root.value, index);
        case Kind::reduce_scatter:
            return sums_[(own * call_.out.count + index) % period];
        case Kind::allgather_elements:
            return value_of(static_cast<int>(index / call_.in.count), index % call_.in.count);
        case Kind::all_to_all: {
            auto const part = call_.in.count / static_cast<std::size_t>(ranks_);
            return value_of(static_cast<int>(index / part), own * part + index % part);
        }
        default:
            return sums_[index % period];
    }
}

std::uint64_t TestData::count_wrong() const {
    if (!gets_result()) return 0;
    auto const size = collectives::size_of(call_.out.type);
    auto const bytes = bytes_of(call_.out);
    std::uint64_t wrong = 0;
    std::array<std::byte, 8> expected{};
    for (std::size_t i = 0; i < call_.out.count; ++i) {
        encode(call_.out.type, expected_at(i), expected.data());
        wrong += std::memcmp(&bytes[i * size], expected.data(), size) != 0 ? 1 : 0;
    }
    return wrong;
}

}  // namespace det::measure
