#include "job/move_jobs.hpp"

#include <det/experiment/query_all_jobs.hpp>
#include <det/experiment/update_jobs.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>
#include <det/queue/priority_levels.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <ostream>
#include <set>

#include "output/table.hpp"

namespace det::cli {
namespace {

using queue::Move;
using queue::Request;

// Slurm computes priorities again when a nice changes; the new order may need a correction in another round.
constexpr int rounds_max = 3;

template <class... Fs>
struct Overloaded : Fs... {
    using Fs::operator()...;
};
template <class... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

/// The data for planning and making moves.
struct Update {
    Session& session;
    slurm::ClusterConfig config;
    queue::ExperimentJobOwner owner;
    queue::Caller caller;
    experiment::JobsSnapshot snapshot;
};

Result<queue::Rights> rights_of(std::string const& user, MoveOptions const& options,
                                slurm::ClusterConfig const& config) {
    if (options.rights == "owner") return queue::Rights::owner;
    if (options.rights == "operator") return queue::Rights::operators;
    if (options.rights)
        return Error{codes::usage,
                     fmt::format("--rights '{}' is neither owner nor operator", *options.rights)};
    auto const slurm_user = config.find("SlurmUser").value_or("root");  // "slurm(64030)"
    bool const is_operator = user == "root" || user == slurm_user.substr(0, slurm_user.find('('));
    return is_operator ? queue::Rights::operators : queue::Rights::owner;
}

Result<Update> begin(MoveOptions const& options, Session& session) {
    DET_TRY_ASSIGN(auto config, session.slurm.query_cluster_config());
    auto owner = experiment::experiment_job_owner(session);
    queue::Caller caller{owner.user, {}, config.has_option("SchedulerParameters", "enable_user_top")};
    DET_TRY_ASSIGN(caller.rights, rights_of(owner.user, options, config));
    DET_TRY_ASSIGN(auto snapshot, experiment::query_all_jobs(session, experiment::PartitionsNeed::always));
    return Update{session, std::move(config), std::move(owner), std::move(caller), std::move(snapshot)};
}

/// The error distinguishes a job that has ended from one that never existed.
Error no_such_job(Update const& update, std::string const& id) {
    auto const ref = slurm::parse_job_ref(id.starts_with("job-") ? std::string_view(id).substr(4) : id);
    if (ref) {
        auto const jobs = update.session.slurm.query_queue({.jobs = {ref->job}, .include_finished = true});
        if (jobs && !jobs->empty() && slurm::is_over(jobs->front().state)) {
            return {codes::job_not_waiting,
                    fmt::format("job {} is over: it is {}", ref->job, jobs->front().state_text),
                    "only jobs that wait can be moved"};
        }
    }
    return {codes::no_such_job, fmt::format("there is no job '{}' in the queue", id),
            "see 'det-submit job list'; an experiment whose job is over has left the queue"};
}

Result<std::uint32_t> require_job(Update const& update, std::string const& id) {
    DET_TRY_ASSIGN(auto const job, find_job_id(update.snapshot.queue.jobs, id, update.owner));
    return job ? Result<std::uint32_t>(*job) : no_such_job(update, id);
}

Result<Request> level_request(Update const&, std::uint32_t job, std::string const& value) {
    auto const level = parse_integer<int>(value);
    if (!level || *level < queue::most_urgent_level || *level > queue::least_urgent_level) {
        return Error{codes::usage, fmt::format("priority '{}' is no number from {} (most urgent) to {}",
                                               value, queue::most_urgent_level, queue::least_urgent_level)};
    }
    return Request(queue::SetLevel{job, *level});
}

Result<Request> weight_request(Update const& update, std::uint32_t, std::string const&) {
    bool const is_multifactor =
        update.config.find("PriorityType").value_or("").find("multifactor") != std::string::npos;
    auto const share = update.config.find_number("PriorityWeightFairshare")
                           .value_or(update.config.find_number("PriorityWeightFairShare").value_or(0));
    auto const* const reason =
        !is_multifactor
            ? "this site serves jobs in the order of their priorities (priority/basic) and shares nothing out"
        : share > 0 ? "this site shares out between accounts, by shares that administrators set: a job has "
                      "none of its own"
                    : "this site computes priorities without a fair share (PriorityWeightFairShare is 0)";
    return Error{codes::no_legal_move, fmt::format("a weight means nothing to Slurm: {}", reason),
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

Result<Request> pool_request(Update const& update, std::uint32_t number, std::string const& value) {
    DET_TRY_ASSIGN(auto const pool, site::require_pool(update.snapshot.site, {value}));
    for (auto const& job : update.snapshot.queue.jobs) {
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
Result<Request> place_request(Update const& update, std::uint32_t job, std::string const& value) {
    DET_TRY_ASSIGN(auto const other, require_job(update, value));
    return Request(queue::Reorder{job, side, other});
}

struct Operation {
    std::string_view name;
    Result<Request> (*make)(Update const&, std::uint32_t job, std::string const& value);
};

constexpr Operation operations[] = {
    {"priority", level_request},
    {"weight", weight_request},
    {"resource-pool", pool_request},
    {"ahead-of", place_request<queue::Reorder::Side::ahead_of>},
    {"behind-of", place_request<queue::Reorder::Side::behind_of>},
};

Result<Request> make_request(Update const& update, MoveRequest const& item) {
    std::vector<std::string_view> names;
    for (auto const& operation : operations) {
        names.push_back(operation.name);
        if (operation.name != item.operation) continue;
        DET_TRY_ASSIGN(auto const job, require_job(update, item.id));
        return operation.make(update, job, item.value);
    }
    auto const near = nearest_word(item.operation, names);
    return Error{codes::usage, fmt::format("there is no operation '{}'", item.operation),
                 near ? fmt::format("use '{}'", *near) : fmt::format("there are {}", fmt::join(names, ", "))};
}

Result<std::vector<Request>, Diagnostics> make_requests(Update const& update,
                                                        std::vector<MoveRequest> const& items) {
    Diagnostics wrong;
    std::vector<Request> requests;
    for (auto const& item : items) {
        auto request = make_request(update, item);
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

std::string to_text(Move const& move) {
    return std::visit(
        Overloaded{[](queue::ChangeNice const& each) {
                       return fmt::format("job {}: nice {} -> {}", each.job, each.from, each.to);
                   },
                   [](queue::ChangePriority const& each) {
                       return fmt::format("job {}: Slurm's priority -> {}", each.job, each.priority);
                   },
                   [](queue::ComputePriority const& each) {
                       return fmt::format("job {}: Slurm computes its priority", each.job);
                   },
                   [](queue::ChangePartition const& each) {
                       return fmt::format("job {}: partition -> {}", to_string(each.job), each.partition);
                   },
                   [](queue::MoveToTop const& each) {
                       return fmt::format("job {}: to the top of its owner's jobs", each.job);
                   }},
        move);
}

Json to_json(Move const& move) {
    return std::visit(
        Overloaded{
            [](queue::ChangeNice const& each) {
                return Json{{"kind", "nice"}, {"job", each.job}, {"from", each.from}, {"to", each.to}};
            },
            [](queue::ChangePriority const& each) {
                return Json{{"kind", "priority"}, {"job", each.job}, {"to", each.priority}};
            },
            [](queue::ComputePriority const& each) {
                return Json{{"kind", "computed-priority"}, {"job", each.job}};
            },
            [](queue::ChangePartition const& each) {
                return Json{{"kind", "partition"}, {"job", to_string(each.job)}, {"to", each.partition}};
            },
            [](queue::MoveToTop const& each) {
                return Json{{"kind", "top"}, {"job", each.job}};
            }},
        move);
}

Status make_move(Move const& move, slurm::SlurmClient& slurm) {
    return std::visit(Overloaded{[&](queue::ChangeNice const& each) {
                                     return slurm.update_job({each.job, {}}, {.nice = each.to});
                                 },
                                 [&](queue::ChangePriority const& each) {
                                     return slurm.update_job({each.job, {}}, {.priority = each.priority});
                                 },
                                 [&](queue::ComputePriority const& each) {
                                     return slurm.release({each.job, {}});
                                 },
                                 [&](queue::ChangePartition const& each) {
                                     return slurm.update_job(each.job, {.partition = each.partition});
                                 },
                                 [&](queue::MoveToTop const& each) {
                                     return slurm.move_to_top({{each.job, {}}});
                                 }},
                      move);
}

/// Makes moves until the queue is as requested, in at most rounds_max rounds. `made` lists the moves that
/// were made, also after an error.
Status apply(Update& update, std::vector<Request> const& requests, std::vector<Move> moves,
             std::vector<Move>& made) {
    auto open = requests;
    for (int round = 0; round < rounds_max; ++round) {
        for (auto const& move : moves) {
            DET_TRY(make_move(move, update.session.slurm));
            made.push_back(move);
        }
        if (moves.empty()) return Ok{};
        DET_TRY_ASSIGN(update.snapshot,
                       experiment::query_all_jobs(update.session, experiment::PartitionsNeed::always));
        open = unfulfilled(update.snapshot.queue, requests, update.caller);
        if (open.empty()) return Ok{};
        DET_TRY_ASSIGN(moves, plan_moves(update.snapshot.queue, update.caller, open));
    }
    return Error{
        codes::no_legal_move,
        fmt::format("Slurm did not come to {}: its priority does not follow its nice",
                    to_string(open.front())),
        "an operator may have set that priority: hold the job and release it, and Slurm computes it anew"};
}

/// Returns the waiting, not held jobs of the requested jobs' partitions, in scheduling order.
std::vector<slurm::JobStatus> jobs_concerned(queue::QueueState const& queue,
                                             std::vector<Request> const& requests) {
    std::set<std::string> partitions;
    for (auto const& request : requests) {
        for (auto const& job : queue.jobs) {
            if (job.ref.job == job_of(request)) partitions.insert(job.partition);
        }
    }
    std::vector<slurm::JobStatus> jobs;
    for (auto& job : in_scheduling_order(queue.jobs, queue.tiers)) {
        bool const waits = queue::is_waiting(job) && !queue::is_held(job);
        if (waits && partitions.contains(job.partition)) jobs.push_back(std::move(job));
    }
    return jobs;
}

void print_json(std::vector<Move> const& moves, std::vector<slurm::JobStatus> const& jobs, bool is_dry_run,
                Session& session) {
    Json answer{{"dry_run", is_dry_run}, {"moves", Json::array()}, {"order", Json::array()}};
    for (auto const& move : moves) answer["moves"].push_back(to_json(move));
    for (auto const& job : jobs) {
        answer["order"].push_back({{"id", to_string(job.ref)},
                                   {"name", job.name},
                                   {"resource_pool", job.partition},
                                   {"priority", job.priority},
                                   {"nice", job.nice},
                                   {"user", job.user}});
    }
    session.answer(answer);
}

void print_text(std::vector<Move> const& moves, std::vector<slurm::JobStatus> const& jobs, Session& session) {
    for (auto const& move : moves) session.out << to_text(move) << '\n';
    if (moves.empty()) session.out << "nothing to change\n";
    Table table({"#", "ID", "Job Name", "Resource Pool", "Priority", "Nice", "User"});
    std::size_t place = 0;
    for (auto const& job : jobs) {
        table.add({std::to_string(place++), to_string(job.ref), job.name, job.partition,
                   std::to_string(job.priority), std::to_string(job.nice), job.user});
    }
    session.out << table.render();
}

void print_answer(Update const& update, std::vector<Request> const& requests, std::vector<Move> const& moves,
                  MoveOptions const& options) {
    auto const jobs = jobs_concerned(update.snapshot.queue, requests);
    if (update.session.wants_json()) {
        print_json(moves, jobs, options.is_dry_run, update.session);
    } else {
        print_text(moves, jobs, update.session);
    }
    if (options.is_dry_run) update.session.say("dry run: nothing was changed");
    bool const is_multifactor =
        update.config.find("PriorityType").value_or("").find("multifactor") != std::string::npos;
    if (is_multifactor && !moves.empty()) {
        update.session.say(
            fmt::format("note: Slurm computes priorities anew every {}, by age and size: look again later",
                        update.config.find("PriorityCalcPeriod").value_or("few minutes")));
    }
}

/// Prints, before anything is changed, which jobs fall back although no request names them.
void announce_lowered(std::vector<Move> const& moves, std::vector<Request> const& requests,
                      Session const& session) {
    for (auto const& move : moves) {
        auto const* change = std::get_if<queue::ChangeNice>(&move);
        if (change == nullptr || change->to <= change->from) continue;
        bool const is_named = std::any_of(requests.begin(), requests.end(), [&](auto const& request) {
            return job_of(request) == change->job;
        });
        if (!is_named)
            session.say(fmt::format("job {} falls back: its nice becomes {}", change->job, change->to));
    }
}

void announce_places_replaced(queue::QueueState const& before, std::vector<Request> const& requests,
                              std::vector<Move> const& moves, Session const& session) {
    for (auto const& change : find_reversed_pairs(before, requests, moves))
        session.say(fmt::format(
            "job {0} now comes before job {1}: jobs of the same priority start in the order of their "
            "submission; 'det-submit job update {1} --ahead-of {0}' restores the order before",
            change.ahead, change.behind));
}

/// Adds the reason to codes::no_legal_move if all priority weights are 0: then no nice can reorder jobs.
Error explain(Error error, Update const& update) {
    if (error.code != codes::no_legal_move || !update.config.has_equal_priorities()) return error;
    error.notes.push_back(
        "this site computes priorities (priority/multifactor) with all weights 0: every job has "
        "the same priority, whatever its nice");
    error.hint = "ask an administrator for PriorityType=priority/basic, or for a PriorityWeight";
    return error;
}

Error with_what_was_done(Error error, std::vector<Move> const& made) {
    for (auto const& move : made) error.notes.push_back("done before: " + to_text(move));
    return error;
}

}  // namespace

Outcome move_jobs(std::vector<MoveRequest> const& items, MoveOptions const& options, Session& session) {
    DET_TRY_ASSIGN(auto update, begin(options, session));
    DET_TRY_ASSIGN(auto const requests, make_requests(update, items));
    auto planned = plan_moves(update.snapshot.queue, update.caller, requests);
    if (!planned) return explain(std::move(planned).error(), update);
    auto const& moves = *planned;
    announce_places_replaced(update.snapshot.queue, requests, moves, session);
    auto made = moves;
    if (options.is_dry_run) {
        update.snapshot.queue = after_moves(std::move(update.snapshot.queue), moves);
    } else {
        made.clear();
        announce_lowered(moves, requests, session);
        auto applied = apply(update, requests, moves, made);
        for (auto const& move : made) {
            if (auto const* moved = std::get_if<queue::ChangePartition>(&move))
                experiment::update_spec_partition(moved->job.job, update.snapshot.queue.jobs, update.owner,
                                                  session);
        }
        if (!applied) return with_what_was_done(explain(std::move(applied).error(), update), made);
    }
    print_answer(update, requests, made, options);
    return ExitCode::done;
}

}  // namespace det::cli
