#include <det/plan/arrays.hpp>

#include <algorithm>
#include <cassert>
#include <fmt/format.h>

namespace det::plan {
namespace {

constexpr std::int64_t slurms_maximum = 4'000'001;  // of MaxArraySize

/// Where the k-th of `parts` shares of `whole` begins, shares as equal as whole numbers can be.
std::uint32_t share_begin(std::uint32_t whole, std::uint32_t parts, std::uint32_t k) {
    return static_cast<std::uint32_t>(std::uint64_t{whole} * k / parts);
}

}  // namespace

std::string ArrayPart::indices() const { return fmt::format("0-{}%{}", trial_count - 1, running_max); }

std::vector<ArrayPart> split_into_arrays(std::uint32_t trial_count, std::uint32_t running_max,
                                         std::uint32_t array_size_max) {
    assert(trial_count > 0 && running_max > 0 && array_size_max > 0);
    auto const parts = (trial_count - 1) / array_size_max + 1;
    std::vector<ArrayPart> arrays;
    for (std::uint32_t k = 0; k < parts; ++k) {
        auto const first = share_begin(trial_count, parts, k);
        auto const size = share_begin(trial_count, parts, k + 1) - first;
        auto const running = share_begin(running_max, parts, k + 1) - share_begin(running_max, parts, k);
        arrays.push_back({first, size, std::clamp(running, 1u, size)});
    }
    return arrays;
}

Result<std::uint32_t> array_size_max(slurm::ClusterConfig const& cluster, std::uint32_t trial_count) {
    constexpr std::int64_t slurms_default = 1001;
    auto const size = cluster.find_number("MaxArraySize").value_or(slurms_default);
    auto const jobs_max = cluster.find_number("MaxJobCount");
    if (size < 1) {
        return Error{codes::not_supported, "job arrays are switched off on this cluster: MaxArraySize=0",
                     "an administrator sets MaxArraySize in slurm.conf"};
    }
    if (jobs_max && trial_count > *jobs_max) {
        return Error{codes::not_supported,
                     fmt::format("{} trials are more jobs than this cluster holds: MaxJobCount={}",
                                 trial_count, *jobs_max),
                     "make several experiments of it, one after the other"};
    }
    return static_cast<std::uint32_t>(std::min<std::int64_t>(size, slurms_maximum));
}

}  // namespace det::plan
