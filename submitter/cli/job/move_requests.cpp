#include "job/move_requests.hpp"

#include <det/foundation/text.hpp>
#include <det/queue/priority_levels.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace det::cli {
namespace {

using queue::Request;

Result<queue::Rights> rights_of(std::string const& user, std::optional<std::string> const& wanted,
                                slurm::ClusterConfig const& config) {
    if (wanted == "owner") return queue::Rights::owner;
    if (wanted == "operator") return queue::Rights::operators;
    if (wanted)
        return Error{codes::usage, fmt::format("--rights '{}' is neither owner nor operator", *wanted)};
    auto const slurm_user = config.find("SlurmUser").value_or("root");  // "slurm(64030)"
    bool const is_operator = user == "root" || user == slurm_user.substr(0, slurm_user.find('('));
    return is_operator ? queue::Rights::operators : queue::Rights::owner;
}

/// The error distinguishes a job that has ended from one that never existed.
Error no_such_job(MoveContext const& context, std::string const& id) {
    auto const ref = slurm::parse_job_ref(id.starts_with("job-") ? std::string_view(id).substr(4) : id);
    if (ref) {
        auto const jobs = context.session.slurm.query_queue({.jobs = {ref->job}, .include_finished = true});
        if (jobs && !jobs->empty() && slurm::is_over(jobs->front().state)) {
            return {codes::job_not_waiting,
                    fmt::format("job {} is over: it is {}", ref->job, jobs->front().state_text),
                    "only jobs that wait can be moved"};
        }
    }
    return {codes::no_such_job, fmt::format("there is no job '{}' in the queue", id),
            "see 'det-submit job list'; an experiment whose job is over has left the queue"};
}

Result<std::uint32_t> require_job(MoveContext const& context, std::string const& id) {
    DET_TRY_ASSIGN(auto const job, find_job_id(context.snapshot.queue.jobs, id, context.owner));
    return job ? Result<std::uint32_t>(*job) : no_such_job(context, id);
}

Result<Request> level_request(MoveContext const&, std::uint32_t job, std::string const& value) {
    auto const level = parse_integer<int>(value);
    if (!level || *level < queue::most_urgent_level || *level > queue::least_urgent_level) {
        return Error{codes::usage, fmt::format("priority '{}' is no number from {} (most urgent) to {}",
                                               value, queue::most_urgent_level, queue::least_urgent_level)};
    }
    return Request(queue::SetLevel{job, *level});
}

/// An account or a QOS of the user, and what it adds to the priority of a job.
struct Choice {
    std::string name;
    double value;
};

/// Which of several accounts or QOSs gives jobs more; empty if there are no two.
std::string describe_choices(std::vector<Choice> choices, std::string_view what, std::string_view option) {
    if (choices.size() < 2) return "";
    std::ranges::stable_sort(choices, std::ranges::greater(), &Choice::value);
    std::vector<std::string> all;
    for (auto const& each : choices) all.push_back(fmt::format("{} {:.6g}", each.name, each.value));
    auto const& best = choices.front();
    if (best.value == choices.back().value)
        return fmt::format("your {} give jobs the same ({}); ", what, fmt::join(all, ", "));
    return fmt::format("of your {} '{}' gives jobs the most ({}): choose it by slurm.sbatch_args: [{}={}]; ",
                       what, best.name, fmt::join(all, ", "), option, best.name);
}

/// The choices of a user by which Slurm shares out. What Slurm does not answer is left out.
std::string describe_shares(MoveContext const& context, bool has_fair_share) {
    auto& slurm = context.session.slurm;
    std::vector<Choice> accounts, qos;
    auto const shares = has_fair_share
                            ? slurm.query_fair_shares(context.owner.user)
                            : Result<std::vector<slurm::FairShare>>(std::vector<slurm::FairShare>());
    if (shares) {
        for (auto const& share : *shares) accounts.push_back({share.account, share.factor});
    }
    if (context.config.find_number("PriorityWeightQOS").value_or(0) > 0) {
        auto const accounting =
            slurm.query_accounting(context.owner.user, context.config.find("ClusterName").value_or(""));
        std::set<std::string> names;
        for (auto const& each : accounting ? accounting->associations : std::vector<slurm::Association>()) {
            if (each.user == context.owner.user) names.insert(each.qos.begin(), each.qos.end());
        }
        for (auto const& name : names) {
            auto const* const found = accounting->find_qos(name);
            qos.push_back({name, found != nullptr ? static_cast<double>(found->priority) : 0});
        }
    }
    return describe_choices(std::move(accounts), "accounts", "--account") +
           describe_choices(std::move(qos), "QOSs", "--qos");
}

Result<Request> weight_request(MoveContext const& context, std::uint32_t, std::string const&) {
    bool const is_multifactor =
        context.config.find("PriorityType").value_or("").find("multifactor") != std::string::npos;
    auto const share = context.config.find_number("PriorityWeightFairshare")
                           .value_or(context.config.find_number("PriorityWeightFairShare").value_or(0));
    auto const* const reason =
        !is_multifactor
            ? "this site serves jobs in the order of their priorities (priority/basic) and shares nothing out"
        : share > 0 ? "this site shares out between accounts, by shares that administrators set: a job has "
                      "none of its own"
                    : "this site computes priorities without a fair share (PriorityWeightFairShare is 0)";
    return Error{codes::no_legal_move, fmt::format("a weight means nothing to Slurm: {}", reason),
                 (is_multifactor ? describe_shares(context, share > 0) : "") +
                     "use --priority, --ahead-of or --behind-of; see 'det-submit job update --help'"};
}

/// \return the number of the pool's nodes that have at least so many GPUs
int count_nodes_with_gpus(site::Pool const& pool, int gpus) {
    int nodes = 0;
    for (auto const& kind : pool.kinds) {
        auto const of_node = pool.slot_type == SlotType::cpu ? 0 : kind.slots_per_node;
        if (of_node >= gpus) nodes += kind.count;
    }
    return nodes;
}

Result<Request> pool_request(MoveContext const& context, std::uint32_t number, std::string const& value) {
    DET_TRY_ASSIGN(auto const pool, site::require_pool(context.snapshot.site, {value}));
    for (auto const& job : context.snapshot.queue.jobs) {
        if (job.ref.job != number) continue;
        auto const gpus = slurm::parse_gpu_count(job.tres_per_node);
        auto const there = count_nodes_with_gpus(pool, gpus);
        if (job.nodes <= there) continue;
        return Error{codes::slots_do_not_fit,
                     fmt::format("job {} needs {} nodes with {} GPUs each; pool '{}' has {} such nodes",
                                 number, job.nodes, gpus, pool.name, there)};
    }
    return Request(queue::SetPartition{number, pool.partition});
}

template <queue::Reorder::Side side>
Result<Request> place_request(MoveContext const& context, std::uint32_t job, std::string const& value) {
    DET_TRY_ASSIGN(auto const other, require_job(context, value));
    return Request(queue::Reorder{job, side, other});
}

struct Operation {
    std::string_view name;
    Result<Request> (*make)(MoveContext const&, std::uint32_t job, std::string const& value);
};

constexpr Operation operations[] = {
    {"priority", level_request},
    {"weight", weight_request},
    {"resource-pool", pool_request},
    {"ahead-of", place_request<queue::Reorder::Side::ahead_of>},
    {"behind-of", place_request<queue::Reorder::Side::behind_of>},
};

Result<Request> make_request(MoveContext const& context, MoveRequest const& item) {
    std::vector<std::string_view> names;
    for (auto const& operation : operations) {
        names.push_back(operation.name);
        if (operation.name != item.operation) continue;
        DET_TRY_ASSIGN(auto const job, require_job(context, item.id));
        return operation.make(context, job, item.value);
    }
    auto const near = nearest_word(item.operation, names);
    return Error{codes::usage, fmt::format("there is no operation '{}'", item.operation),
                 near ? fmt::format("use '{}'", *near) : fmt::format("there are {}", fmt::join(names, ", "))};
}

}  // namespace

Result<MoveContext> read_move_context(std::optional<std::string> const& rights, Session& session) {
    DET_TRY_ASSIGN(auto config, session.slurm.query_cluster_config());
    auto owner = experiment::experiment_job_owner(session);
    queue::Caller caller{owner.user, {}, config.has_option("SchedulerParameters", "enable_user_top")};
    DET_TRY_ASSIGN(caller.rights, rights_of(owner.user, rights, config));
    DET_TRY_ASSIGN(auto snapshot, experiment::query_all_jobs(session, experiment::PartitionsNeed::always));
    return MoveContext{session, std::move(config), std::move(owner), std::move(caller), std::move(snapshot)};
}

Result<std::vector<Request>, Diagnostics> make_requests(MoveContext const& context,
                                                        std::vector<MoveRequest> const& items) {
    Diagnostics wrong;
    std::vector<Request> requests;
    for (auto const& item : items) {
        auto request = make_request(context, item);
        if (request) {
            requests.push_back(*std::move(request));
        } else if (items.size() == 1) {
            wrong.report(std::move(request).error());
        } else {
            wrong.report(std::move(request).error().while_doing(
                fmt::format("reading '{}.{}={}'", item.id, item.operation, item.value)));
        }
    }
    if (wrong.has_errors()) return wrong;
    return requests;
}

}  // namespace det::cli
