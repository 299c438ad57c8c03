#include <det/collectives/rank_group.hpp>
#include <det/collectives/reduction.hpp>

#include <cstring>
#include <fmt/format.h>
#include <new>

namespace det::collectives {
namespace {

constexpr std::align_val_t page{4096};

class SingleRank final : public RankGroup {
public:
    SingleRank() : RankGroup(Rank{0}, 1) {}
    Status barrier() override { return Ok{}; }
    Result<std::vector<std::string>> gather(std::string value, Status const& refused) override {
        return allgather(std::move(value), refused);
    }
    Result<std::vector<std::string>> allgather(std::string value, Status const& refused) override {
        DET_TRY(refused);
        return std::vector<std::string>{std::move(value)};
    }
    Result<std::string> broadcast(std::string value, Rank, Status const& refused) override {
        DET_TRY(refused);
        return value;
    }
    Status run(TensorCall const& call, Status const& refused) override {
        DET_TRY(refused);
        if (call.kind == Kind::broadcast) return Ok{};
        auto const in = bytes_of(call.in);
        copy(bytes_of(call.out).data(), in.data(), in.size());
        return Ok{};
    }
    std::string algorithm_name(TensorCall const&) const override { return "single rank"; }
    void abandon() noexcept override {}
};

}  // namespace

Result<Buffer> allocate_private(std::size_t size_bytes) {
    if (size_bytes == 0) return Buffer{};
    auto* const memory = ::operator new(size_bytes, page, std::nothrow);
    if (memory == nullptr) {
        return Error{codes::misuse, fmt::format("there is no memory for a buffer of {} bytes", size_bytes)};
    }
    std::memset(memory, 0, size_bytes);
    return Buffer({static_cast<std::byte*>(memory), size_bytes},
                  [](std::span<std::byte> bytes) { ::operator delete(bytes.data(), page); });
}

Error ErrorScope::with_rank(Error error, Rank rank) const {
    if (!enclosing_call) error.message = fmt::format("rank {}: {}", global_rank(rank).value, error.message);
    return error;
}

Status RankGroup::use_stream(void*) {
    return Error{codes::misuse, "these ranks have no devices, and so no streams"};
}

Result<std::unique_ptr<RankGroup>> RankGroup::make_cross_group() {
    return Error{codes::misuse,
                 "the ranks of a node do not share memory, so they have no group of their own"};
}

std::unique_ptr<RankGroup> make_single_rank() { return std::make_unique<SingleRank>(); }

Result<Buffer> RankGroup::allocate(std::size_t size_bytes) { return allocate_private(size_bytes); }

}  // namespace det::collectives
