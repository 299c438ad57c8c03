#include <det/transport/subgroup.hpp>

#include <algorithm>
#include <cassert>

namespace det::transport {
namespace {

constexpr std::uint32_t subgroup_tags = (tag_max + 1) / 2;

class SubgroupOperation final : public Operation {
public:
    explicit SubgroupOperation(Request request) : request_(std::move(request)) {}
    Result<bool> test() override { return request_.test(); }
    Result<std::size_t> wait() override { return request_.finish(); }

private:
    Request request_;
};

std::unique_ptr<Operation> wrap(Request request) {
    return std::make_unique<SubgroupOperation>(std::move(request));
}

class Subgroup final : public Transport {
public:
    Subgroup(Transport& whole, Rank rank, std::vector<Rank> members)
        : Transport(rank, static_cast<int>(members.size())), whole_(whole), members_(std::move(members)) {}

    std::string_view name() const override { return whole_.name(); }
    Status flush() override { return whole_.flush(); }
    void abandon() noexcept override { whole_.abandon(); }
    Status check_ranks() const override { return whole_.check_ranks(); }

private:
    Result<std::unique_ptr<Operation>> begin_send(Rank to, Tag tag, Bytes bytes) override {
        DET_TRY_ASSIGN(auto request, whole_.start_send(member(to), shifted(tag), bytes));
        return wrap(std::move(request));
    }
    // Fit::at_most, because the Request of the subgroup checks for an exact size.
    Result<std::unique_ptr<Operation>> begin_receive(Rank from, Tag tag, MutableBytes into) override {
        DET_TRY_ASSIGN(auto request, whole_.start_receive(member(from), shifted(tag), into, Fit::at_most));
        return wrap(std::move(request));
    }
    Rank member(Rank rank) const { return members_[static_cast<std::size_t>(rank.value)]; }
    static Tag shifted(Tag tag) { return {tag.value % subgroup_tags + subgroup_tags}; }

    Transport& whole_;
    std::vector<Rank> members_;
};

}  // namespace

std::unique_ptr<Transport> make_subgroup(Transport& whole, std::vector<Rank> members) {
    auto const self = std::find(members.begin(), members.end(), whole.rank());
    assert(self != members.end());
    Rank const rank{static_cast<int>(self - members.begin())};
    return std::make_unique<Subgroup>(whole, rank, std::move(members));
}

}  // namespace det::transport
