#include "health_check.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/shared_directory.hpp>
#include <det/foundation/uuid.hpp>
#include <det/protocol/host_list.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/task_identity.hpp>

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <set>

#include "free_port.hpp"
#include "node_step.hpp"
#include "run_environment.hpp"

namespace det::launch::supervisor {
namespace {

namespace fs = std::filesystem;
using Reports = std::vector<std::optional<HealthReport>>;

using namespace std::chrono_literals;

constexpr auto own_check_limit = 60s;
constexpr auto default_command_timeout = 60s;
/// Of a run on one node: the program of the command is missing everywhere, if it was on none of so many.
constexpr std::uint32_t nodes_without_command_max = 3;

/// What slurm.health_check adds to our own check.
struct HealthCommand {
    std::vector<std::string> argv = {};  // empty: nothing
    std::chrono::seconds timeout = default_command_timeout;

    std::chrono::seconds limit_of_check() const { return own_check_limit + (argv.empty() ? 0s : timeout); }
};

Json const* find_health_check(ExperimentSpec const& spec) {
    Json::json_pointer const wanted("/slurm/health_check");
    return spec.config->contains(wanted) ? &spec.config->at(wanted) : nullptr;
}

HealthCommand read_command(ExperimentSpec const& spec) {
    auto const* const wanted = find_health_check(spec);
    HealthCommand command;
    if (wanted == nullptr || !wanted->is_object()) return command;
    command.argv = wanted->at("command").get<std::vector<std::string>>();
    command.timeout =
        std::chrono::seconds(wanted->value("timeout", std::int64_t{default_command_timeout.count()}));
    return command;
}

/// The failed connections between the nodes of a run.
class FailedLinks {
public:
    FailedLinks(Reports const& reports, std::set<std::uint32_t> const& known_as_bad) {
        auto const is_checked = [&](std::uint32_t node) {
            return node < reports.size() && reports[node] && !known_as_bad.contains(node);
        };
        for (std::uint32_t from = 0; from < reports.size(); ++from) {
            if (!is_checked(from)) continue;
            for (auto const to : reports[from]->unreached) {
                // A node does not listen if another program uses the port. That is not its fault.
                if (is_checked(to) && reports[to]->listens) links_.push_back({from, to});
            }
        }
    }

    /// Blames the node with the most failed connections, or both ends of a connection if they have equally
    /// many, until each failed connection has a node to blame.
    /// \return the blamed nodes
    std::set<std::uint32_t> blame() {
        std::set<std::uint32_t> blamed;
        while (!links_.empty()) {
            auto const worst = *std::ranges::max_element(
                links_, {}, [this](Link const& link) { return std::max(count(link.from), count(link.to)); });
            auto const from = count(worst.from), to = count(worst.to);
            if (from >= to) remove(worst.from, blamed);
            if (to >= from) remove(worst.to, blamed);
        }
        return blamed;
    }

private:
    struct Link {
        std::uint32_t from, to;
    };

    std::ptrdiff_t count(std::uint32_t node) const {
        return std::ranges::count_if(links_,
                                     [&](Link const& link) { return link.from == node || link.to == node; });
    }
    void remove(std::uint32_t node, std::set<std::uint32_t>& blamed) {
        std::erase_if(links_, [&](Link const& link) { return link.from == node || link.to == node; });
        blamed.insert(node);
    }

    std::vector<Link> links_;
};

/// The directory of a check; removed at the end.
class CheckDirectory {
public:
    explicit CheckDirectory(fs::path path) : path_(std::move(path)) {}
    CheckDirectory(CheckDirectory const&) = delete;
    CheckDirectory& operator=(CheckDirectory const&) = delete;
    ~CheckDirectory() { (void)remove_tree(path_); }

    Status prepare(std::string const& token) const {
        DET_TRY(make_directories(path_));
        DET_TRY(write_secret_file(path_ / health_secret_file, make_uuid() + make_uuid()));
        return write_secret_file(path_ / health_token_file, token);
    }
    Reports load(std::size_t nodes) const {
        Reports reports(nodes);
        for (std::uint32_t i = 0; i < nodes; ++i) {
            auto const text = read_file(health_report_path(path_, i));
            auto report = text ? parse_health_report(*text) : Result<HealthReport>(text.error());
            if (report) reports[i] = *std::move(report);
        }
        return reports;
    }
    fs::path const& path() const { return path_; }

private:
    fs::path path_;
};

std::vector<std::string> check_arguments(ExperimentSpec const& spec, RunPlan const& run,
                                         fs::path const& directory, std::string const& token,
                                         HealthCommand const& command) {
    int const gpus = spec.shape.slot_type == SlotType::cpu ? 0 : run.shape.shape.slots_per_node;
    std::vector<std::string> arguments{"check-health",
                                       "--directory",
                                       directory,
                                       "--token",
                                       token,
                                       "--storage",
                                       spec.checkpoint_path,
                                       "--hosts",
                                       run.hosts,
                                       "--port",
                                       std::to_string(find_free_port()),
                                       "--gpus",
                                       std::to_string(gpus),
                                       "--command-timeout-s",
                                       std::to_string(command.timeout.count())};
    if (!command.argv.empty()) {
        arguments.push_back("--");
        arguments.insert(arguments.end(), command.argv.begin(), command.argv.end());
    }
    return arguments;
}

Result<HealthVerdict> make_check(BatchJob const& batch_job, RunPlan const& run,
                                 SupervisorContext const& context, std::function<bool()> const& is_stopped) {
    DET_TRY_ASSIGN(auto const hosts, expand_host_list(run.hosts));
    auto const trial = batch_job.experiment.trial(run.id.trial.index);
    CheckDirectory const directory(trial.run(run.id.number).path() / "health");
    auto const token = make_uuid();
    DET_TRY(directory.prepare(token));
    // The directory for checkpoints may not exist before the first run.
    if (auto const& storage = batch_job.spec.checkpoint_path; !storage.empty())
        (void)make_directories(storage);
    auto const command = read_command(batch_job.spec);
    auto const limit = command.limit_of_check();
    NodeStep const step{"health", check_arguments(batch_job.spec, run, directory.path(), token, command),
                        make_run_environment(batch_job, run, context.environment), limit, true};
    DET_TRY_ASSIGN(auto const end, run_node_step(batch_job, run, context, step, is_stopped));
    if (end.is_stopped) return stopped_before_step(run.id);
    auto const reports = directory.load(hosts.size());
    if (std::ranges::none_of(reports, [](auto const& report) { return report.has_value(); }))
        return Error{codes::process, "no node has reported"};
    return judge_health(hosts, reports, end.exit_code ? std::nullopt : std::optional(limit));
}

}  // namespace

HealthVerdict judge_health(std::vector<std::string> const& hosts, Reports const& reports,
                           std::optional<std::chrono::seconds> limit) {
    HealthVerdict verdict;
    verdict.lacks_command =
        std::ranges::all_of(reports, [](auto const& report) { return report && report->lacks_command; });
    verdict.fails_by_command_only =
        reports.size() > 1 && std::ranges::all_of(reports, [](auto const& report) {
            return report && report->fails_by_command_only;
        });
    verdict.is_complete =
        std::ranges::all_of(reports, [](auto const& report) { return report && report->is_complete; });
    std::set<std::uint32_t> bad;
    auto const fail = [&](std::uint32_t node, std::string why) {
        bad.insert(node);
        verdict.unhealthy.push_back({hosts[node], std::move(why)});
    };
    for (std::uint32_t i = 0; i < hosts.size(); ++i) {
        auto const& report = reports[i];
        if (!report) {
            fail(i, "it did not begin the check");
        } else if (!report->faults.empty()) {
            fail(i, fmt::format("{}", fmt::join(report->faults, "; ")));
        } else if (!report->is_complete && limit) {
            fail(i, fmt::format("it did not end the check within {} s", limit->count()));
        }
        if (!report) continue;
        for (auto const& note : report->notes)
            verdict.notes.push_back(fmt::format("node {}: {}", hosts[i], note));
    }
    for (auto const node : FailedLinks(reports, bad).blame())
        fail(node, "connections between it and other nodes fail");
    return verdict;
}

bool wants_health_check(ExperimentSpec const& spec) {
    auto const* const wanted = find_health_check(spec);
    return wanted != nullptr && (wanted->is_object() || *wanted == Json(true));
}

/// Whether the program of the command is missing everywhere, and not on one sick node only.
bool is_command_missing(HealthVerdict const& verdict, RunPlan const& run) {
    bool const is_of_several = run.shape.task_nodes > 1;
    return verdict.lacks_command &&
           (is_of_several || run.resume.slurm_failures_in_a_row + 1 >= nodes_without_command_max);
}

Result<HealthVerdict> check_health(BatchJob const& batch_job, RunPlan const& run,
                                   SupervisorContext const& context,
                                   std::function<bool()> const& is_stopped) {
    if (!wants_health_check(batch_job.spec)) return HealthVerdict();
    auto const begin = context.clock.steady_now();
    auto verdict = make_check(batch_job, run, context, is_stopped);
    if (!verdict && verdict.error().code == codes::interrupted) return verdict.error();
    if (!verdict) {
        context.log(fmt::format("run {}: the health check could not be made: {}", to_string(run.id),
                                verdict.error().message));
        return HealthVerdict();
    }
    if (is_command_missing(*verdict, run)) {
        return Error{codes::no_such_file,
                     fmt::format("no node of {} has the program '{}' of slurm.health_check.command",
                                 run.hosts, read_command(batch_job.spec).argv.front()),
                     "write its absolute path, or leave the command out"};
    }
    if (verdict->is_complete && verdict->unhealthy.empty()) {
        auto const took_ms =
            std::chrono::duration_cast<std::chrono::milliseconds>(context.clock.steady_now() - begin).count();
        context.log(fmt::format("run {}: {} passed the health check in {} ms", to_string(run.id), run.hosts,
                                took_ms));
    }
    for (auto const& note : verdict->notes)
        context.log(fmt::format("run {}: health check: {}", to_string(run.id), note));
    for (auto const& node : verdict->unhealthy)
        context.log(fmt::format("run {}: node {} fails the health check: {}", to_string(run.id), node.host,
                                node.why));
    return *std::move(verdict);
}

}  // namespace det::launch::supervisor
