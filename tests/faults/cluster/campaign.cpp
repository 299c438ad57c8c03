// faults-cluster-campaign [--rounds N] [--seed N] [--lanes N]: runs trainings with random faults on a real
// Slurm, N of them at a time. The seed of a round is that of the previous round plus 1; `--rounds 1 --seed N`
// repeats one round.
#include <atomic>
#include <fmt/format.h>
#include <iostream>
#include <mutex>
#include <thread>

#include "../number_options.hpp"
#include "round.hpp"

namespace {

using namespace det;
using namespace det::faults;

constexpr int skipped = 77;         // SKIP_RETURN_CODE in tests/faults/CMakeLists.txt
constexpr int nodes_of_a_lane = 3;  // a training needs two; the third replaces a node that is down

struct Options {
    std::uint32_t rounds = 50;
    std::uint32_t seed = std::random_device{}();
    std::uint32_t lanes = 4;
};

class Campaign {
public:
    explicit Campaign(Options const& options)
        : options_(options), site_(SiteOptions{.nodes = static_cast<int>(options.lanes) * nodes_of_a_lane}) {}

    Status start() {
        DET_TRY(site_.start());
        auto training = make_training("no-faults", 0);
        DET_TRY(play(training, 0));
        for (auto const& [number, run] : training.trace()) weights_ = run.weights;
        return Ok{};
    }

    /// Returns the number of failed rounds.
    std::uint32_t play_all() {
        std::vector<std::jthread> lanes;
        for (std::uint32_t lane = 0; lane < options_.lanes; ++lane) {
            lanes.emplace_back([this, lane] {
                for (auto round = next_round_++; round < options_.rounds; round = next_round_++)
                    play_round(round, lane);
            });
        }
        lanes.clear();
        return failed_;
    }

private:
    Training make_training(std::string const& what, std::uint32_t lane) {
        std::vector<int> nodes;
        for (int node = 0; node < nodes_of_a_lane; ++node)
            nodes.push_back(static_cast<int>(lane) * nodes_of_a_lane + node);
        return {site_, fmt::format("{}-{}", site_.name(), what), nodes};
    }

    /// Runs one training; seed 0 injects no faults. A failed check is an Error.
    Status play(Training& training, std::uint32_t seed, std::string* description = nullptr) {
        Round round(training, seed);
        if (description != nullptr) *description = round.description();
        DET_TRY(training.create());
        auto const played = round.play();
        if (description != nullptr) *description = round.description();
        DET_TRY(played);
        DET_TRY_ASSIGN(auto const failure, check_training(training, weights_));
        if (failure.empty()) return Ok{};
        return Error{codes::internal, failure};
    }

    void play_round(std::uint32_t number, std::uint32_t lane) {
        auto const begin = std::chrono::steady_clock::now();
        auto const seed = std::max(1u, options_.seed + number);
        auto training = make_training(fmt::format("round-{}", number + 1), lane);
        std::string description;
        auto const played = play(training, seed, &description);
        auto const took =
            std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - begin);
        std::lock_guard const lock(mutex_);
        std::cout << fmt::format("round {} (--seed {}, {} s, experiment {}): {}\n", number + 1, seed,
                                 took.count(), training.id().value, description);
        if (!played) {
            ++failed_;
            site_.keep_files();
            std::cout << fmt::format("    FAILED: {}; see {}\n", played.error().message,
                                     site_.state().string());
        }
        std::cout << std::flush;
    }

    Options const options_;
    Site site_;
    std::string weights_;  // of the training without faults
    std::atomic<std::uint32_t> next_round_ = 0;
    std::mutex mutex_;  // protects the output and failed_
    std::uint32_t failed_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    Options options;
    if (!read_numbers(
            argc, argv,
            {{"--rounds", &options.rounds}, {"--seed", &options.seed}, {"--lanes", &options.lanes}})) {
        std::cerr << "faults-cluster-campaign [--rounds N] [--seed N] [--lanes N]\n";
        return 2;
    }
    if (auto const obstacle = Site::find_obstacle(); !obstacle.empty()) {
        std::cout << "SKIPPED: " << obstacle << std::endl;
        return skipped;
    }
    std::cout << fmt::format("faults: {} rounds on a cluster with --seed {}", options.rounds, options.seed)
              << std::endl;
    options.lanes = std::min(options.lanes, options.rounds);
    Campaign campaign(options);
    if (auto const started = campaign.start(); !started) {
        std::cerr << "faults: error: a training without faults fails: " << started.error().message << '\n';
        return 1;
    }
    auto const failed = campaign.play_all();
    std::cout << options.rounds - failed << " passed, " << failed << " failed\n";
    return failed == 0 ? 0 : 1;
}
