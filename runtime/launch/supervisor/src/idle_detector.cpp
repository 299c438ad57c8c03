#include "idle_detector.hpp"

#include <det/foundation/files.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace det::launch::supervisor {
namespace {

// Windows that a node may be late with its file before it counts as not measured.
constexpr int late_windows_max = 3;

}  // namespace

std::optional<IdlePolicy> find_idle_policy(ExperimentSpec const& spec) {
    Json::json_pointer const wanted("/slurm/idle_timeout");
    if (!spec.config->contains(wanted)) return std::nullopt;
    auto const& written = spec.config->at(wanted);
    if (!written.is_object() || !written.contains("after")) return std::nullopt;
    return IdlePolicy{std::chrono::seconds(written.at("after").get<std::int64_t>()),
                      written.value("action", "warn") == "end"};
}

IdleDetector::IdleDetector(std::optional<std::chrono::seconds> timeout, Time begin)
    : timeout_(timeout),
      begin_(begin),
      counted_since_(begin),
      next_check_at_(timeout ? begin + interval() : begin) {}

std::optional<IdleDetector::Time> IdleDetector::next_check() const {
    return timeout_ ? std::optional(next_check_at_) : std::nullopt;
}

std::optional<std::chrono::seconds> IdleDetector::check(RunUse const& use, Time now) {
    if (!timeout_) return std::nullopt;
    bool const is_late = now > next_check_at_ + interval();
    next_check_at_ = now + interval();
    auto const shortest = shortest_idle_time(use, now);
    if (works_again(use)) was_reported_ = false;
    if (is_late || may_rest(use, now) || !shortest) {
        counted_since_ = now;
        return std::nullopt;
    }
    auto const counted = std::chrono::floor<std::chrono::milliseconds>(now - counted_since_);
    auto const idle = std::min(*shortest, counted);
    if (idle < *timeout_ || was_reported_) return std::nullopt;
    was_reported_ = true;
    return std::chrono::floor<std::chrono::seconds>(idle);
}

/// Whether all nodes are measured, and one has worked in its last window.
bool IdleDetector::works_again(RunUse const& use) {
    bool const are_measured =
        std::ranges::all_of(use.nodes, [](auto const& usage) { return usage && usage->windows > 0; });
    return are_measured &&
           std::ranges::any_of(use.nodes, [](auto const& usage) { return usage->idle_ms == 0; });
}

/// Whether the run starts or saves, and has not done so for longer than the timeout.
bool IdleDetector::may_rest(RunUse const& use, Time now) {
    if (!use.has_trained && now - begin_ < *timeout_) return true;
    if (use.saves_begun != saves_seen_) {
        saves_seen_ = use.saves_begun;
        save_seen_at_ = now;
        return true;
    }
    return use.is_saving && now - save_seen_at_ < *timeout_;
}

std::optional<std::chrono::milliseconds> IdleDetector::shortest_idle_time(RunUse const& use, Time now) {
    std::optional<std::chrono::milliseconds> shortest;
    nodes_.resize(use.nodes.size());
    bool are_all_idle = true;
    for (std::size_t i = 0; i < use.nodes.size(); ++i) {
        auto& state = nodes_[i];
        auto const& usage = use.nodes[i];
        if (usage && usage->windows != state.windows) state = {usage->windows, now};
        bool const is_measured =
            usage && usage->windows > 0 && now - state.changed_at <= late_windows_max * interval();
        if (!is_measured || usage->idle_ms == 0) {
            are_all_idle = false;
            continue;
        }
        std::chrono::milliseconds const idle(static_cast<std::int64_t>(usage->idle_ms));
        shortest = shortest ? std::min(*shortest, idle) : idle;
    }
    return are_all_idle ? shortest : std::nullopt;
}

RunUse RunUseReader::read(int nodes) {
    read_reports();
    auto use = use_;
    constexpr std::size_t size_limit_bytes = 4096;
    for (int node = 0; node < nodes; ++node) {
        auto const text = read_file(run_.node_usage(node), size_limit_bytes);
        auto const usage = text ? parse_node_usage(*text) : Result<NodeUsage>(text.error());
        use.nodes.push_back(usage ? std::optional(*usage) : std::nullopt);
    }
    return use;
}

/// A journal that can't be read shows no further steps and saves.
void RunUseReader::read_reports() {
    reports_.close_file();  // the chief may write on another node
    for (;;) {
        auto const records = reports_.read_new();
        if (!records || records->empty()) return;
        for (auto const& record : *records) {
            bool const has_begun_save = std::holds_alternative<CheckpointBegun>(record);
            bool const has_saved = std::holds_alternative<CheckpointCommitted>(record);
            if (has_begun_save) ++use_.saves_begun;
            if (has_begun_save || has_saved) use_.is_saving = has_begun_save;
            use_.has_trained = use_.has_trained || has_saved || std::holds_alternative<FirstStep>(record) ||
                               std::holds_alternative<MetricsReported>(record) ||
                               std::holds_alternative<ProgressReported>(record);
        }
    }
}

std::string describe_idle(SlotType slot_type, std::chrono::seconds idle) {
    auto const used =
        slot_type == SlotType::cpu
            ? fmt::format("its processes used less than {} % of a processor on each node", idle_percent)
            : fmt::format("its GPUs were used less than {} %", idle_percent);
    return fmt::format("{} for {} s", used, idle.count());
}

}  // namespace det::launch::supervisor
