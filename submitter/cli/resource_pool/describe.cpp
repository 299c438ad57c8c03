#include <det/foundation/count_text.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>

#include <fmt/format.h>

#include "command.hpp"
#include "resource_pool/pool_view.hpp"

namespace det::cli {
namespace {

/// Collects lines "Name:  value". Leaves out lines without a value.
class Lines {
public:
    void add(std::string_view name, std::string const& value) {
        if (!value.empty())
            text_ += fmt::format("{:<18}{}\n", name.empty() ? "" : fmt::format("{}:", name),
                                 escape_control(value));
    }
    void add(std::string_view name, std::optional<std::string> const& value) {
        add(name, value.value_or(""));
    }
    void add_limit(std::string_view name, std::optional<std::int64_t> const& value) {
        if (value) add(name, std::to_string(*value));
    }
    std::string const& text() const { return text_; }

private:
    std::string text_;
};

class ResourcePoolDescribe final : public Command {
public:
    std::vector<Option> options() override { return {{"pool", &name_, "the pool", Need::required}}; }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto const views, load_pools(session));
        site::Site site;
        for (auto const& view : views) {
            if (view.pool.name == name_) return show(view, session);
            site.pools.push_back(view.pool);
        }
        return site::require_pool(site, {name_}).error();
    }

private:
    static Outcome show(PoolView const& view, Session& session) {
        session.answer(to_json(view), as_text(view));
        return ExitCode::done;
    }

    static std::string as_text(PoolView const& view) {
        auto const& [pool, use] = view;
        Lines lines;
        lines.add("Name", pool.name);
        lines.add("Description", pool.description);
        lines.add("Default for", default_words(pool));
        lines.add("Partition", pool.partition + (pool.is_up ? "" : " (not up)"));
        lines.add("Slot type", type_words(pool));
        lines.add("Slots", fmt::format("{} used, {} on nodes that are out, {} in all", use.slots_used,
                                       use.slots_out, use.slots));
        lines.add("Nodes",
                  fmt::format("{} free, {} out, {} in all", use.nodes_free, use.nodes_out, use.nodes));
        for (auto const& kind : pool.kinds) {
            auto const type = kind.gpu_type.empty() ? "" : " " + kind.gpu_type;
            lines.add("",
                      fmt::format("{} of {}{}, {}: {}", kind.count, count_text(kind.slots_per_node, "slot"),
                                  type, count_text(kind.cpus, "CPU"), join(kind.names, ",")));
        }
        lines.add("Preemption", fmt::format("{}, grace {} s", preempt_mode_of(pool), grace_time_of(pool)));
        lines.add("Jobs", fmt::format("{} waiting, {} running", use.jobs_waiting, use.jobs_running));
        lines.add("QOS", pool.qos);
        lines.add("Account", pool.account);
        lines.add("Reservation", pool.reservation);
        lines.add("Constraint", pool.constraint);
        lines.add_limit("Slots per trial", pool.limits.slots_per_trial_max);
        lines.add_limit("Nodes per trial", pool.limits.nodes_per_trial_max);
        lines.add("Time limit", pool.limits.time_max);
        if (!pool.rules.time_max.empty())
            lines.add("MaxWall", fmt::format("{}, of {}", pool.rules.time_max, pool.rules.time_owner));
        lines.add("Users may set", join(pool.user_options, ", "));
        lines.add("Memory", std::string(pool.has_whole_memory ? "all of a node's" : "as Slurm decides"));
        lines.add("Mixed nodes", std::string(pool.may_mix_nodes ? "yes" : "no"));
        lines.add("Scheduler", std::string(config::to_string(pool.scheduler)));
        lines.add("Containers", pool.container_name());
        return lines.text();
    }

    std::string name_;
};

}  // namespace

std::unique_ptr<Command> make_resource_pool_describe() { return std::make_unique<ResourcePoolDescribe>(); }

}  // namespace det::cli
