#include "grow_detector.hpp"

#include <det/foundation/text.hpp>
#include <det/protocol/host_list.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>
#include <functional>
#include <set>
#include <tuple>

namespace det::launch::supervisor {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::seconds default_every = 1h;
constexpr std::chrono::seconds duration_max = std::chrono::hours(24 * 366);
constexpr std::ptrdiff_t doublings_max = 5;

/// A number of seconds from 1 to a year; nullopt: no such number.
std::optional<std::chrono::seconds> duration_at(Json const& object, char const* key) {
    auto const found = object.find(key);
    if (found == object.end() || !found->is_number_integer()) return std::nullopt;
    auto const seconds = found->get<std::int64_t>();
    if (seconds < 1 || seconds > duration_max.count()) return std::nullopt;
    return std::chrono::seconds(seconds);
}

/// Whether the job waits for nodes: it is not held, and waits for no time and no other job.
bool waits_for_nodes(slurm::JobStatus const& job) {
    constexpr std::string_view other_reasons[] = {"Dependency", "DependencyNeverSatisfied", "BeginTime",
                                                  "JobHeldUser", "JobHeldAdmin"};
    return job.state == slurm::JobState::pending &&
           std::ranges::find(other_reasons, job.reason) == std::end(other_reasons);
}

}  // namespace

std::optional<GrowPolicy> find_grow_policy(ExperimentSpec const& spec) {
    Json::json_pointer const wanted("/slurm/grow");
    if (!spec.is_elastic() || !spec.config->contains(wanted)) return std::nullopt;
    auto const& written = spec.config->at(wanted);
    if (!written.is_object()) return std::nullopt;
    auto const after = duration_at(written, "after");
    if (!after) return std::nullopt;
    return GrowPolicy{*after, duration_at(written, "every").value_or(default_every)};
}

int nodes_after_requeue(BatchJob const& batch_job, RunShape const& run,
                        std::vector<std::string> const& bad_hosts, std::vector<slurm::Node> const& nodes) {
    auto const& spec = batch_job.spec;
    auto const present = run.shape.nodes;
    auto const own = expand_host_list(batch_job.hosts);
    auto const excluded = expand_host_list(spec.excluded_nodes);
    if (!own || !excluded) return present;
    std::set<std::string> usable(own->begin(), own->end());
    for (auto const& node : nodes) {
        if (node.partition == batch_job.partition && node.is_free()) usable.insert(node.name);
    }
    for (auto const& name : *excluded) usable.erase(name);
    for (auto const& name : bad_hosts) usable.erase(name);
    auto const total = static_cast<int>(usable.size()) - static_cast<int>(spec.spare_nodes);
    return std::clamp(total, present, std::max(present, spec.shape.nodes));
}

bool waits_another_job(BatchJob const& batch_job, std::vector<slurm::Node> const& nodes,
                       std::vector<slurm::JobStatus> const& jobs) {
    auto const ours = slurm::pick_job(jobs, batch_job.job);
    if (!ours) return true;
    // The nodes of our partition, and all partitions that they are in.
    std::set<std::string> names;
    for (auto const& node : nodes) {
        if (node.partition == batch_job.partition) names.insert(node.name);
    }
    std::set<std::string, std::less<>> partitions{batch_job.partition};
    for (auto const& node : nodes) {
        if (names.contains(node.name)) partitions.insert(node.partition);
    }
    return std::ranges::any_of(jobs, [&](auto const& job) {
        if (!waits_for_nodes(job)) return false;
        if (job.ref.job == batch_job.job.job) return true;
        if (job.reason == "JobArrayTaskLimit") return false;  // it waits for another task of its own array
        auto const wanted = split(job.partition, ',');
        if (std::ranges::none_of(wanted, [&](auto const name) { return partitions.contains(name); }))
            return false;
        if (std::ranges::find(wanted, std::string_view(batch_job.partition)) == wanted.end()) return true;
        return std::tuple(-job.priority, job.ref.job) < std::tuple(-ours->priority, batch_job.job.job);
    });
}

std::chrono::seconds wait_before_growing(GrowPolicy const& policy, std::span<PastGrowth const> growths,
                                         int nodes, UtcTime now) {
    if (growths.empty()) return policy.after;
    auto const has_grown = [&](auto const& growth) {
        return growth.nodes_after.value_or(nodes) > growth.nodes;
    };
    auto const in_vain = std::ranges::find_if(growths, has_grown) - growths.begin();
    auto const gap = policy.every * (1 << std::min<std::ptrdiff_t>(in_vain, doublings_max));
    // Clocks of nodes may differ: a growth in the future was just now.
    auto const passed_us = std::max<std::int64_t>(0, now.microseconds - growths.front().ended.microseconds);
    auto const passed = std::chrono::floor<std::chrono::seconds>(std::chrono::microseconds(passed_us));
    return std::max(policy.after, gap - passed);
}

GrowDetector::GrowDetector(std::optional<GrowPolicy> policy, Time first_check)
    : policy_(policy), next_check_at_(first_check) {}

std::chrono::seconds GrowDetector::interval() const { return std::clamp(policy_->after / 10, 2s, 60s); }

std::optional<GrowDetector::Time> GrowDetector::next_check() const {
    return policy_ ? std::optional(next_check_at_) : std::nullopt;
}

bool GrowDetector::check(bool can_grow, std::size_t checkpoints, Time now) {
    next_check_at_ = now + interval();
    if (!can_grow) {
        checkpoints_before_.reset();
        return false;
    }
    if (!checkpoints_before_) checkpoints_before_ = checkpoints;
    return checkpoints > *checkpoints_before_;
}

}  // namespace det::launch::supervisor
