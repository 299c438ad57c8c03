// faults-live-campaign [--rounds N] [--seed N] [--lanes N] [--slurm RELEASE] [--profile NAME] [--results
// FILE]: trainings of several kinds, each with one fault, on one real Slurm. A round is a line of the results
// file, and a later call goes on with the rounds that the file lacks. --plan prints the rounds only. --costs
// plays other rounds, which measure what faults cost. See tests/faults/README.md.
#include <det/foundation/text.hpp>

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <fmt/format.h>
#include <iostream>
#include <sched.h>
#include <sys/mount.h>
#include <thread>

#include "fault_cost.hpp"
#include "results_file.hpp"
#include "verdicts.hpp"

namespace {

using namespace det;
using namespace det::faults;
using namespace std::chrono_literals;

constexpr int skipped = 77;         // SKIP_RETURN_CODE in tests/faults/CMakeLists.txt
constexpr int nodes_of_a_lane = 3;  // a training needs two; the third replaces a node that is down

struct Options {
    std::uint32_t rounds = 0;           // 0 after read_options(): never
    std::optional<std::uint32_t> seed;  // repeats the rounds from this seed on, whatever the results file has
    std::uint32_t lanes = 4;
    std::string slurm = "22.05";
    std::string profile = "accounting";
    std::string results = "faults-live.jsonl";
    bool only_summary = false;
    bool only_plan = false;
    bool costs = false;  // the rounds that measure what faults cost

    std::uint32_t first_seed() const { return seed.value_or(costs ? cost_seed_begin : 1); }
    RoundPlan plan(std::uint32_t number) const {
        return costs ? plan_cost_round(number) : plan_round(number);
    }
};

std::atomic<bool> interrupted = false;

/// Mounts that this process makes later appear in the cluster too, and for no other process of the machine.
Status make_own_mounts() {
    if (::unshare(CLONE_NEWNS) == 0 && ::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) == 0 &&
        ::mount(nullptr, "/", nullptr, MS_REC | MS_SHARED, nullptr) == 0)
        return Ok{};
    return Error{codes::process, "no mount namespace can be made"};
}

/// Hands out rounds in order. A round that disturbs the whole site is alone.
class Schedule {
public:
    explicit Schedule(std::vector<RoundPlan> plans) : plans_(std::move(plans)) {}

    std::optional<RoundPlan> begin_next() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] {
            if (next_ >= plans_.size() || interrupted) return true;
            return !is_alone_ && (running_ == 0 || !disturbs_site(plans_[next_]));
        });
        if (next_ >= plans_.size() || interrupted) return std::nullopt;
        is_alone_ = disturbs_site(plans_[next_]);
        ++running_;
        return plans_[next_++];
    }
    void end(RoundPlan const& plan) {
        std::lock_guard const lock(mutex_);
        --running_;
        if (disturbs_site(plan)) is_alone_ = false;
        changed_.notify_all();
    }

private:
    static bool disturbs_site(RoundPlan const& plan) {
        return plan.fault != nullptr && plan.fault->scope == Scope::site;
    }
    std::vector<RoundPlan> plans_;
    std::size_t next_ = 0;
    int running_ = 0;
    bool is_alone_ = false;
    std::mutex mutex_;
    std::condition_variable changed_;
};

class LiveCampaign {
public:
    explicit LiveCampaign(Options options)
        : options_(std::move(options)),
          results_(options_.results),
          site_(SiteOptions{.nodes = static_cast<int>(options_.lanes) * nodes_of_a_lane,
                            .slots = 1,
                            .slurm = options_.slurm == "22.05" ? "" : options_.slurm,
                            .profile = options_.profile}) {}

    Status start() {
        DET_TRY(site_.start());
        std::cout << site_.description() << std::endl;
        if (!has_accounting()) return Ok{};
        // Four trainings at a time are more than the profile allows a user.
        return site_.run_as_root(
            "sacctmgr --immediate modify qos normal set MaxTRESPerUser=gres/gpu=-1 MaxSubmitJobsPerUser=-1");
    }

    Status play() {
        DET_TRY_ASSIGN(auto const plans, choose_rounds());
        std::set<std::string_view> kinds;
        std::vector<RoundPlan> references;
        for (auto const& plan : plans)
            if (!plan.kind->is_search && kinds.insert(plan.kind->name).second)
                references.push_back(plan_undisturbed(*plan.kind));
        play_all(references);
        if (failed_ > 0) return Error{codes::internal, "a training without a fault fails"};
        played_ = 0;
        play_all(plans);
        return Ok{};
    }

    std::uint32_t failed() const { return failed_; }
    std::uint32_t played() const { return played_; }
    Site& site() { return site_; }

private:
    bool has_accounting() const { return options_.profile == "accounting"; }

    Result<std::vector<RoundPlan>> choose_rounds() const {
        std::set<std::uint32_t> done;
        if (!options_.seed) {
            DET_TRY_ASSIGN(done, results_.seeds_of(options_.slurm));
        }
        std::vector<RoundPlan> plans;
        auto const first = options_.first_seed();
        for (std::uint32_t i = 0; i < options_.rounds; ++i)
            if (!done.contains(first + i)) plans.push_back(options_.plan(first + i));
        auto const obstacle = NfsHost::find_obstacle();
        auto const skipped_rounds = std::erase_if(
            plans, [&](auto const& plan) { return !obstacle.empty() && plan.fault->seam == Seam::nfs; });
        if (skipped_rounds > 0)
            std::cout << "SKIPPED: " << skipped_rounds << " rounds on NFS: " << obstacle << std::endl;
        return plans;
    }

    void play_all(std::vector<RoundPlan> const& plans) {
        Schedule schedule(plans);
        std::vector<std::jthread> lanes;
        for (std::uint32_t lane = 0; lane < options_.lanes; ++lane)
            lanes.emplace_back([&, lane] {
                while (auto const plan = schedule.begin_next()) {
                    play_round(*plan, lane);
                    schedule.end(*plan);
                }
            });
    }

    std::vector<int> nodes_of(std::uint32_t lane) const {
        std::vector<int> nodes;
        for (int node = 0; node < nodes_of_a_lane; ++node)
            nodes.push_back(static_cast<int>(lane) * nodes_of_a_lane + node);
        return nodes;
    }

    void play_round(RoundPlan const& plan, std::uint32_t lane) {
        auto const begin = std::chrono::steady_clock::now();
        wait_for_nodes(lane);
        auto const name = plan.seed == 0 ? fmt::format("undisturbed-{}", plan.kind->name)
                                         : fmt::format("round-{}", plan.seed);
        LiveTraining training(site_, *plan.kind, fmt::format("{}-{}", site_.name(), name), nodes_of(lane),
                              plan.fault == nullptr ? Seam::none : plan.fault->seam);
        auto const line = judge(training, plan, begin);
        bool const passed = has_passed(line);
        std::lock_guard const lock(mutex_);
        ++played_;
        std::cout << (passed ? "" : "FAILED ") << to_line(line) << std::endl;
        if (!passed) {
            ++failed_;
            site_.keep_files();
            clean_up(training);
        }
        if (plan.seed == 0) return;
        if (auto const written = results_.append(line); !written)
            std::cerr << written.error().message << '\n';
    }

    Json judge(LiveTraining& training, RoundPlan const& plan, std::chrono::steady_clock::time_point begin) {
        LiveRound round(training, plan);
        auto const observation = round.play();
        if (!observation) return describe_broken_round(plan, options_.slurm, observation.error().message);
        Reference reference;
        {
            std::lock_guard const lock(mutex_);
            if (plan.seed == 0) references_[plan.kind->name] = reference_of(*plan.kind, *observation);
            reference = references_[plan.kind->name];
        }
        auto const verdicts = judge_round(training, plan, *observation, reference, has_accounting());
        auto const took =
            std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - begin);
        return describe_round(plan, options_.slurm, *observation, verdicts, describe_causes(*observation),
                              took);
    }

    /// Waits until the nodes of a lane are idle again after the fault of the round before.
    void wait_for_nodes(std::uint32_t lane) const {
        std::string nodes;
        for (auto const node : nodes_of(lane)) nodes += fmt::format("{}n{}", nodes.empty() ? "" : ",", node);
        for (auto const deadline = std::chrono::steady_clock::now() + 90s;
             std::chrono::steady_clock::now() < deadline; std::this_thread::sleep_for(500ms)) {
            auto const idle =
                site_.shell(fmt::format("sinfo --noheader --Node --partition=compute --nodes={} --format=%t "
                                        "| grep -c -x idle || true",
                                        nodes));
            if (idle && *idle == std::to_string(nodes_of_a_lane)) return;
        }
        std::cout << "the nodes " << nodes << " are not idle" << std::endl;
    }

    /// Ends what a failed round has left, so that the next one is not disturbed.
    static void clean_up(LiveTraining const& training) {
        static_cast<void>(training.freeze(false));
        auto const now = training.snapshot();
        if (now)
            for (auto const& array : now->record.arrays())
                static_cast<void>(training.shell(fmt::format("scancel {} || true", array.job)));
        std::this_thread::sleep_for(2s);
        for (auto const& process : training.processes()) ::kill(process.pid, SIGKILL);
    }

    Options const options_;
    ResultsFile results_;
    Site site_;
    std::map<std::string_view, Reference> references_;
    std::mutex mutex_;  // protects references_, the output and the counters
    std::uint32_t failed_ = 0, played_ = 0;
};

/// Prints what the rounds are, without playing them.
void print_plan(Options const& options) {
    auto const first = options.first_seed();
    for (auto seed = first; seed < first + options.rounds; ++seed) {
        auto const plan = options.plan(seed);
        std::cout << fmt::format("{} {}: {} at {}\n", seed, plan.kind->name, plan.fault->name, plan.moment());
    }
}

bool read_options(int argc, char** argv, Options& options) {
    for (int i = 1; i < argc; ++i) {
        std::string_view const name = argv[i];
        if (name == "--summary") {
            options.only_summary = true;
            continue;
        }
        if (name == "--costs") {
            options.costs = true;
            continue;
        }
        if (name == "--plan") {
            options.only_plan = true;
            continue;
        }
        if (++i >= argc) return false;
        std::string_view const value = argv[i];
        auto const number = parse_integer<std::uint32_t>(value);
        bool const is_count = number && *number > 0;
        if (name == "--rounds" && is_count)
            options.rounds = *number;
        else if (name == "--lanes" && is_count)
            options.lanes = *number;
        else if (name == "--seed" && is_count)
            options.seed = *number;
        else if (name == "--slurm")
            options.slurm = value;
        else if (name == "--profile")
            options.profile = value;
        else if (name == "--results")
            options.results = value;
        else
            return false;
    }
    if (options.seed && (*options.seed >= cost_seed_begin) != options.costs) return false;
    constexpr std::uint32_t default_rounds = 50;
    if (options.rounds == 0) options.rounds = options.costs ? count_cost_pairs() : default_rounds;
    return true;
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    if (!read_options(argc, argv, options)) {
        std::cerr << "faults-live-campaign [--rounds N] [--seed N] [--lanes N] [--slurm 22.05|24.11|26.05] "
                     "[--profile NAME] [--results FILE] [--costs] [--summary | --plan]\n";
        return 2;
    }
    if (options.only_summary) {
        std::cout << (options.costs ? summarise_costs(options.results) : summarise(options.results));
        return 0;
    }
    if (options.only_plan) {
        print_plan(options);
        return 0;
    }
    if (auto const obstacle = Site::find_obstacle(); !obstacle.empty()) {
        std::cout << "SKIPPED: " << obstacle << std::endl;
        return skipped;
    }
    for (int const signal : {SIGINT, SIGTERM}) std::signal(signal, [](int) { interrupted = true; });
    if (auto const made = make_own_mounts(); !made) {
        std::cerr << "faults: error: " << made.error().message << '\n';
        return 1;
    }
    options.lanes = std::min(options.lanes, options.rounds);
    std::cout << fmt::format("faults: {} rounds with Slurm {}; results in {}", options.rounds, options.slurm,
                             options.results)
              << std::endl;
    LiveCampaign campaign(options);
    auto played = campaign.start();
    if (played) played = campaign.play();
    if (!played) std::cerr << "faults: error: " << played.error().message << '\n';
    std::cout << campaign.played() - campaign.failed() << " passed, " << campaign.failed() << " failed\n";
    return played && campaign.failed() == 0 ? 0 : 1;
}
