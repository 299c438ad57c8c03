// The nodes of a run bring the files of slurm.stage to their disks:
//
// 1. Each node links what it has, and takes the lock of each file that it lacks. It does not wait for a lock,
//    because the process that holds it may belong to another job, whose nodes wait for a node of this one.
// 2. The nodes tell each other what they lack. If it is nothing, as in every run after the first one, they
//    are done: no node has read a byte of a file.
// 3. If several nodes lack files, the first of these nodes reads each one once, and sends it to the others.
// 4. Each node reads the files that it has not received, verifies and unpacks. Last come those whose lock
//    another process has: a node that waits for a lock holds none.
//
// Slurm's sbcast would read a file once too. But it sends to all nodes of the job, also to those that have
// the file and to lost ones; it needs a step before it, in which nodes say what they lack, and one behind it,
// which verifies and unpacks; and it takes 1.6 times as long (tests/bench/stage: 64 MiB, 16 nodes).
#include <det/foundation/trusted_path.hpp>
#include <det/foundation/user_name.hpp>
#include <det/launch/node/network.hpp>
#include <det/launch/node/run_directory.hpp>
#include <det/launch/node/stage_directory.hpp>
#include <det/launch/supervisor/batch_job.hpp>
#include <det/launch/supervisor/stage_node.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/protocol/host_list.hpp>
#include <det/protocol/task_identity.hpp>
#include <det/slurm/command_client.hpp>
#include <det/transport/subgroup.hpp>
#include <det/transport/tcp/tcp_transport.hpp>
#include <det/transport/tcp_bootstrap.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <unistd.h>

#include "stage_transfer.hpp"

namespace det::launch::supervisor {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds meeting_limit{60};  // srun does not start all tasks of a large job at once
constexpr std::chrono::minutes block_limit{10};    // of a slow disk

// What a node tells the others about each file.
constexpr char state_present = '+';
constexpr char state_lacking = '-';
constexpr char state_awaited = '~';  // another process on the node brings it
constexpr char state_failed = '!';   // and the reason follows

/// The nodes of the run, in their order.
struct StageNodes {
    std::vector<std::string> hosts;
    int own = 0;
};

Result<StageNodes> find_nodes(std::string const& hosts, std::string const& name) {
    DET_TRY_ASSIGN(auto list, expand_host_list(hosts));
    auto const found = std::ranges::find(list, name);
    if (found == list.end())
        return Error{codes::internal, fmt::format("node {} is none of the run: {}", name, hosts)};
    auto const own = static_cast<int>(found - list.begin());
    return StageNodes{std::move(list), own};
}

/// Links what the node has, and begins what it lacks.
Status begin_tasks(StageCache& cache, std::vector<StageTask>& tasks) {
    for (auto& task : tasks) {
        DET_TRY_ASSIGN(task.is_there, cache.use(task.item));
        if (task.is_there) continue;
        DET_TRY_ASSIGN(task.copy, cache.begin(task.item, StageCache::Clock::now()));
        // Another process may have finished the file between the two.
        if (task.copy) {
            DET_TRY_ASSIGN(task.is_there, cache.use(task.item));
        }
        if (task.is_there) task.copy.reset();
    }
    return Ok{};
}

std::string describe_tasks(std::vector<StageTask> const& tasks, Status const& begun) {
    if (!begun) return state_failed + begun.error().message;
    std::string states;
    for (auto const& task : tasks)
        states += task.is_there ? state_present : task.copy ? state_lacking : state_awaited;
    return states;
}

Result<std::unique_ptr<transport::Bootstrap>> meet(StageRequest const& request, StageNodes const& nodes,
                                                   NodeNetwork const& network) {
    transport::TcpBootstrapOptions options;
    if (!network.chief_address.empty()) options.chief_address = network.chief_address;
    options.waits.timeout = meeting_limit;
    return transport::open_tcp_bootstrap(Rank{nodes.own}, static_cast<int>(nodes.hosts.size()),
                                         request.directory / stage_step::rendezvous, options);
}

/// Sends the files that several nodes lack from one of them to the others. Collective.
Status share_files(std::unique_ptr<transport::Bootstrap> bootstrap, StageNodes const& nodes,
                   NodeNetwork const& network, std::vector<std::string> const& states,
                   std::vector<StageTask>& tasks) {
    std::vector<Rank> members;
    for (std::size_t i = 0; i < states.size(); ++i)
        if (states[i].find(state_lacking) != std::string::npos) members.push_back(Rank{static_cast<int>(i)});
    if (members.size() < 2) return Ok{};
    transport::tcp::Options options;
    if (!network.address.empty()) options.address = network.address;
    options.waits.timeout = block_limit;
    DET_TRY_ASSIGN(auto const whole,
                   transport::tcp::open_transport(std::move(bootstrap), std::move(options)));
    auto const self = std::ranges::find(members, Rank{nodes.own});
    if (self == members.end()) return Ok{};
    collectives::Topology const topology{0, 1, static_cast<int>(self - members.begin()),
                                         static_cast<int>(members.size())};
    DET_TRY_ASSIGN(auto group, collectives::DistributedContext::make(
                                   transport::make_subgroup(*whole, members), topology));
    Status first_problem = Ok{};
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        bool const is_lacking = std::ranges::any_of(members, [&](Rank member) {
            return states[static_cast<std::size_t>(member.value)][i] == state_lacking;
        });
        if (!is_lacking) continue;
        auto const copied = copy_together(tasks[i], group);
        if (!copied && first_problem) first_problem = copied;
        bool const is_lost =
            !copied && (copied.error().code == codes::transport || copied.error().code == codes::timed_out);
        if (is_lost) group.abandon();
        if (is_lost) break;
    }
    return first_problem;
}

/// Tells the others what this node lacks, and takes part in what follows.
Status exchange_files(StageRequest const& request, StageNodes const& nodes, Environment const& environment,
                      Status const& begun, std::vector<StageTask>& tasks) {
    auto const network = node::detect_network(nodes.hosts, nodes.own, environment);
    DET_TRY_ASSIGN(auto bootstrap, meet(request, nodes, network));
    DET_TRY_ASSIGN(auto const states, bootstrap->allgather(describe_tasks(tasks, begun)));
    DET_TRY(begun);
    for (std::size_t i = 0; i < states.size(); ++i) {
        if (states[i].front() == state_failed)
            return Error{codes::process, states[i].substr(1)}.noting("found on node " + nodes.hosts[i]);
        if (states[i].size() != tasks.size())
            return Error{codes::internal, fmt::format("node {} stages other files", nodes.hosts[i])};
    }
    return share_files(std::move(bootstrap), nodes, network, states, tasks);
}

/// Reads a file that has not been received, and finishes the copy.
Status complete_task(StageTask& task) {
    if (!task.is_received) DET_TRY(copy_alone(task));
    DET_TRY(task.copy->finish());
    task.copy.reset();
    task.is_there = true;
    return Ok{};
}

/// How long the node waits for files that other processes bring.
struct OtherJobs {
    std::string node;
    std::chrono::seconds limit;
    StageCache::Clock::time_point until;
};

/// Waits for the lock of a file that another process brings, and reads the file unless that process has
/// finished it.
Status complete_awaited(StageCache& cache, OtherJobs const& others, StageTask& task) {
    DET_TRY_ASSIGN(task.copy, cache.begin(task.item, others.until));
    if (!task.copy)
        return Error{codes::timed_out,
                     fmt::format("another process on node {} still brings '{}' after {} minutes", others.node,
                                 task.item.path,
                                 std::chrono::duration_cast<std::chrono::minutes>(others.limit).count())};
    DET_TRY_ASSIGN(task.is_there, cache.use(task.item));
    if (!task.is_there) return complete_task(task);
    task.copy.reset();
    return Ok{};
}

/// Brings what is still lacking. Finishes the copies that this process has begun before it waits for those of
/// others: two processes that hold one lock each, and wait for that of the other, would never end.
Status complete_tasks(StageCache& cache, OtherJobs const& others, std::vector<StageTask>& tasks) {
    for (auto& task : tasks)
        if (!task.is_there && task.copy) DET_TRY(complete_task(task));
    for (auto& task : tasks)
        if (!task.is_there) DET_TRY(complete_awaited(cache, others, task));
    return Ok{};
}

std::vector<StageTask> list_tasks(ExperimentSpec const& spec, StageRequest const& request) {
    std::vector<StageTask> tasks;
    for (auto const& file : staged_files(spec.config)) tasks.push_back({item_of(file)});
    if (spec.context && request.code_bytes > 0) {
        auto const& sha256 = spec.context->sha256;
        tasks.push_back({item_of_code(sha256, RootLayout(spec.root).context(sha256), request.code_bytes)});
    }
    return tasks;
}

Result<ExperimentSpec> load_trusted_spec(Environment const& environment) {
    auto const experiment = environment.find(variables::experiment_path).value_or("");
    DET_TRY(check_trusted_directory(experiment, trust_rules(environment)));
    DET_TRY_ASSIGN(auto const text, load_spec_text(environment));
    return parse_spec(text);
}

/// The jobs of this user that wait or run; nullopt if Slurm does not answer. An older answer would not do: a
/// job that has begun since then uses files.
std::optional<std::set<std::string>> find_jobs(Environment const& environment) {
    SystemProcessRunner runner;
    slurm::CommandClient slurm(runner, environment);
    slurm::QueueFilter filter;
    filter.user = name_of_user(::getuid());
    auto const jobs = slurm.query_queue(filter);
    if (!jobs) return std::nullopt;
    std::set<std::string> names;
    for (auto const& job : *jobs) names.insert(slurm::to_string(job.ref));
    return names;
}

Status bring_files(StageRequest const& request, Environment const& environment) {
    auto const begin = StageCache::Clock::now();
    DET_TRY_ASSIGN(auto const spec, load_trusted_spec(environment));
    auto const job = environment.find_non_empty(variables::stage);
    if (!job || job->find('/') != std::string::npos)
        return Error{codes::misuse, fmt::format("{} does not name the job", variables::stage)};
    auto const name = node::node_name(environment);
    DET_TRY_ASSIGN(auto const nodes, find_nodes(request.hosts, name));
    DET_TRY_ASSIGN(auto const directory, node::make_stage_directory(environment));
    DET_TRY_ASSIGN(auto cache, StageCache::open(directory, {*job, name, stage_limit(spec.config),
                                                            [&] { return find_jobs(environment); }}));
    OtherJobs const others{name, request.other_job_limit, begin + request.other_job_limit};
    auto tasks = list_tasks(spec, request);
    if (tasks.empty()) return Ok{};
    auto const begun = begin_tasks(cache, tasks);
    if (nodes.hosts.size() == 1) {
        DET_TRY(begun);
        return complete_tasks(cache, others, tasks);
    }
    auto const exchanged = exchange_files(request, nodes, environment, begun, tasks);
    bool const are_cut_off = !exchanged && (exchanged.error().code == codes::transport ||
                                            exchanged.error().code == codes::timed_out);
    DET_TRY(begun);
    if (!exchanged && !are_cut_off) return exchanged;
    return complete_tasks(cache, others, tasks);
}

}  // namespace

Status stage_node(StageRequest const& request, Environment const& environment) {
    auto const brought = bring_files(request, environment);
    if (!brought) {
        auto const& error = brought.error();
        // Of several nodes that fail, the first one gives the reason.
        (void)write_new_file(request.directory / stage_step::failure,
                             error.message + "\n" + error.hint + "\n");
    }
    return brought;
}

}  // namespace det::launch::supervisor
