// bench-should-preempt prepare DIRECTORY ADDRESS...: writes the run directory of each node.
// bench-should-preempt node DIRECTORY: two ranks on one node, each pinned to one core.
// bench-should-preempt rank DIRECTORY RANK RANKS: one rank of RANKS nodes; the chief prints the row.
#include <det/core/context.hpp>
#include <det/foundation/diagnostic.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/preemption/notice_page.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/protocol/rendezvous_file.hpp>
#include <det/protocol/task_identity.hpp>

#include <iostream>
#include <sched.h>
#include <span>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "row.hpp"

namespace {

using namespace det;
using bench::Pair;
using std::chrono::duration;
using std::chrono::steady_clock;

constexpr int pair_count = 20;

struct Place {
    std::filesystem::path directory;
    int rank = 0;
    int ranks = 1;
    int nodes = 1;
};

/// The run directory of one node, as the wrapper would create it.
std::filesystem::path run_dir(std::filesystem::path const& directory, std::size_t node) {
    return directory / ("node-" + std::to_string(node));
}

Status prepare_node(std::filesystem::path const& directory, NodeNetwork network) {
    auto const info = directory / info_files::directory;
    DET_TRY(make_directories(info));
    ClusterInfo cluster;
    cluster.agent_id = "bench";
    DET_TRY(write_file(info / info_files::cluster, render_cluster_info(cluster)));
    RendezvousInfo const rendezvous{"n[0-3]", "1(x4)", 1, std::move(network)};
    DET_TRY_ASSIGN(auto const text, render_rendezvous_info(rendezvous));
    DET_TRY(write_file(info / info_files::rendezvous, text));
    // Ranks on several nodes use the run's id for their rendezvous.
    DET_TRY(write_file(info / info_files::trial, render_trial_info({})));
    ExperimentSpec const spec;
    DET_TRY(write_file(info / info_files::spec, render_spec(spec)));
    return preemption::NoticePage::create(directory / preemption::notice_file);
}

Status prepare(std::filesystem::path const& directory, std::span<std::string const> addresses) {
    RunLayout const run = TrialLayout(directory / "trial").run(0);
    DET_TRY(make_directories(run.path()));
    DET_TRY(write_file(run.rendezvous(), render_rendezvous_file({"a secret"})));
    for (std::size_t node = 0; node < addresses.size(); ++node) {
        NodeNetwork network;
        network.chief_address = addresses.front();
        network.address = addresses[node];
        DET_TRY(prepare_node(run_dir(directory, node), std::move(network)));
    }
    return Ok{};
}

Result<core::Context> join(Place const& place) {
    core::ContextOptions options;
    auto set = [&](char const* name, auto const& value) { options.environment.set(name, value); };
    int const local_ranks = place.ranks / place.nodes;
    int const node = place.rank / local_ranks;
    set(variables::run_dir, run_dir(place.directory, static_cast<std::size_t>(node)).string());
    set(variables::run_path, TrialLayout(place.directory / "trial").run(0).path().string());
    set("RANK", std::to_string(place.rank));
    set("WORLD_SIZE", std::to_string(place.ranks));
    set("LOCAL_RANK", std::to_string(place.rank % local_ranks));
    set("LOCAL_WORLD_SIZE", std::to_string(local_ranks));
    set("GROUP_RANK", std::to_string(node));
    set("GROUP_WORLD_SIZE", std::to_string(place.nodes));
    return core::Context::init(std::move(options));
}

using Step = std::function<Status()>;

/// Seconds of one step on the slowest rank.
Result<double> time_steps(core::Context& context, int steps, Step const& step) {
    DET_TRY(context.distributed().barrier());
    auto const begin = steady_clock::now();
    for (int i = 0; i < steps; ++i) DET_TRY(step());
    double const seconds = duration<double>(steady_clock::now() - begin).count() / steps;
    return context.distributed().allreduce(seconds, collectives::ReduceOp::max);
}

Status ask(core::Context& context) {
    DET_TRY_ASSIGN(bool const stop, context.preempt().should_preempt());
    if (stop) return Error{codes::internal, "nobody has raised a notice"};
    return Ok{};
}

void print_row(core::Context& context, std::string const& name, std::vector<Pair> const& pairs,
               std::string const& unit) {
    if (!context.distributed().is_chief()) return;
    std::cout << render(bench::summarise(name, pairs, unit, bench::Better::lower)) << std::endl;
}

/// The time of a call, compared with 100 ns.
Status measure_on_node(core::Context& context) {
    constexpr int calls = 200'000;
    constexpr double limit_s = 100e-9;
    std::vector<Pair> pairs;
    for (int i = 0; i <= pair_count; ++i) {
        DET_TRY_ASSIGN(double const ours, time_steps(context, calls, [&] { return ask(context); }));
        if (i > 0) pairs.push_back({ours, limit_s});
    }
    print_row(context, "should-preempt", pairs, "s");
    return context.close();
}

/// The added time per step, as a share of the step.
Status measure_between_nodes(core::Context& context) {
    constexpr auto step = std::chrono::milliseconds(10);
    constexpr int steps = 20;
    auto const work = [&]() -> Status {
        auto const end = steady_clock::now() + step;
        std::this_thread::sleep_until(end);
        return Ok{};
    };
    auto const work_and_ask = [&]() -> Status {
        DET_TRY(work());
        return ask(context);
    };
    std::vector<Pair> pairs;
    for (int i = 0; i <= pair_count; ++i) {
        DET_TRY_ASSIGN(double const bare, time_steps(context, steps, work));
        DET_TRY_ASSIGN(double const asked, time_steps(context, steps, work_and_ask));
        if (i > 0) pairs.push_back({asked - bare, duration<double>(step).count()});
    }
    print_row(context, "should-preempt-internode", pairs, "s");
    return context.close();
}

Status run_rank(Place const& place, Status (*measure)(core::Context& context)) {
    DET_TRY_ASSIGN(auto context, join(place));
    return measure(context);
}

int say(Status const& result) {
    if (result) return 0;
    print(std::cerr, result.error(), {Colour::never, "bench-should-preempt"});
    return 1;
}

void stay_on_core(int core) {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(core, &cores);
    ::sched_setaffinity(0, sizeof cores, &cores);
}

int run_node(std::filesystem::path const& directory) {
    constexpr int ranks = 2;
    for (int rank = 0; rank < ranks; ++rank) {
        if (::fork() != 0) continue;
        stay_on_core(rank);
        std::quick_exit(say(run_rank({directory, rank, ranks, 1}, measure_on_node)));
    }
    int failed = 0;
    for (int rank = 0; rank < ranks; ++rank) {
        int status = 0;
        ::wait(&status);
        failed |= status;
    }
    return failed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    std::vector<std::string> const arguments(argv + 1, argv + argc);
    if (arguments.size() >= 3 && arguments[0] == "prepare")
        return say(prepare(arguments[1], std::span(arguments).subspan(2)));
    if (arguments.size() == 2 && arguments[0] == "node") return run_node(arguments[1]);
    if (arguments.size() == 4 && arguments[0] == "rank") {
        int const ranks = parse_integer<int>(arguments[3]).value_or(1);
        return say(run_rank({arguments[1], parse_integer<int>(arguments[2]).value_or(0), ranks, ranks},
                            measure_between_nodes));
    }
    std::cerr << "see the source for the arguments\n";
    return 2;
}
