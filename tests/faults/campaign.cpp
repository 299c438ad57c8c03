// faults-campaign [--rounds N] [--seed N]: runs a training with random faults at random calls until it
// completes. After each fault all checkpoints that have a manifest must be readable, and the next run must
// resume at the newest of them. At the end the weights must equal those of a training without faults, bit for
// bit.
#include <det/checkpoint/shared_fs_store.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/text.hpp>

#include <fmt/format.h>
#include <iostream>
#include <random>

#include "number_options.hpp"

namespace {

using namespace det;
using checkpoint::SharedFsStore;

constexpr int training_steps = 8;
constexpr int faults_max = 6;
constexpr int aborted = 134;  // exit code of SIGABRT: the injector found data that a power failure would lose

struct Fault {
    std::string kind;
    long at = 0;  // number of the call; 0: no fault
};

class Campaign {
public:
    Campaign(std::filesystem::path directory, std::uint32_t seed)
        : directory_(std::move(directory)), random_(seed) {}

    /// Runs a training without faults to get its result and the number of its calls.
    Status prepare() {
        DET_TRY(clear_checkpoints());
        DET_TRY_ASSIGN(auto const output, run({}));
        final_line_ = last_line(output.out);
        if (output.exit_code != 0 || !final_line_.starts_with("final "))
            return Error{codes::internal, "training without faults fails: " + output.err};
        DET_TRY_ASSIGN(auto const count, read_file(count_file()));
        calls_ = parse_integer<long>(count).value_or(0);
        return Ok{};
    }

    /// Returns why a round failed, or "".
    Result<std::string> play_round() {
        DET_TRY(clear_checkpoints());
        std::string description;
        auto const faults = pick(faults_max);
        for (long i = 0; i <= faults; ++i) {
            Fault const fault = i < faults ? choose_fault() : Fault{};
            description += fmt::format("{} at call {}; ", fault.at == 0 ? "no fault" : fault.kind, fault.at);
            DET_TRY_ASSIGN(auto const expected_step, newest_committed_step());
            if (expected_step < 0) return description + "a checkpoint with a manifest can't be read";
            DET_TRY_ASSIGN(auto const output, run(fault));
            if (output.exit_code == aborted) return description + output.err;
            auto const resumed = fmt::format("resumed {}\n", expected_step);
            bool const has_begun = output.out.find('\n') != std::string::npos;
            if (has_begun && !output.out.starts_with(resumed))
                return fmt::format("{}expected {} but got {}", description, resumed, output.out);
            if (output.exit_code != 0) continue;
            if (last_line(output.out) == final_line_) return std::string();
            return fmt::format("{}weights {} instead of {}", description, last_line(output.out), final_line_);
        }
        return description + "the run without a fault fails";
    }

private:
    std::filesystem::path count_file() const { return directory_ / "count"; }
    long pick(long most) { return std::uniform_int_distribution<long>(1, most)(random_); }

    Fault choose_fault() {
        // A killed process is the most frequent fault in practice.
        constexpr std::string_view kinds[] = {"kill",   "kill",  "kill", "EIO",
                                              "ENOSPC", "short", "late", "twice"};
        return {std::string(kinds[pick(std::size(kinds)) - 1]), pick(calls_)};
    }

    Status clear_checkpoints() {
        DET_TRY(remove_tree(directory_ / "checkpoints"));
        return make_directories(directory_ / "checkpoints");
    }

    Result<ProcessOutput> run(Fault const& fault) const {
        auto environment = Environment::of_this_process();
        environment.set("LD_PRELOAD", DET_FAULT_INJECTOR);
        environment.set("DET_FAULT_BELOW", directory_.string());
        environment.set("DET_FAULT_COUNT", fault.at == 0 ? count_file().string() : "");
        environment.set("DET_FAULT", fault.kind);
        environment.set("DET_FAULT_AT", std::to_string(fault.at));
        SystemProcessRunner runner;
        return runner.run(
            {{DET_TRAINING_WORKER, (directory_ / "checkpoints").string(), std::to_string(training_steps)},
             environment});
    }

    /// Step of the newest checkpoint. Returns -1 if a checkpoint with a manifest is damaged.
    Result<std::int64_t> newest_committed_step() const {
        SharedFsStore const store(directory_ / "checkpoints");
        DET_TRY_ASSIGN(auto const uuids, store.list());
        std::int64_t newest = 0;
        for (auto const& uuid : uuids) {
            auto const manifest = store.load_manifest(uuid);
            if (!manifest && manifest.error().code == codes::no_such_checkpoint) continue;
            if (!manifest || !store.verify_on_disk(uuid)) return -1;
            newest = std::max(newest, static_cast<std::int64_t>(manifest->steps_completed));
        }
        return newest;
    }

    static std::string last_line(std::string const& text) {
        auto const lines = split_lines(text);
        return lines.empty() ? "" : std::string(lines.back());
    }

    std::filesystem::path directory_;
    std::mt19937 random_;
    std::string final_line_;
    long calls_ = 0;
};

Status play(std::filesystem::path const& directory, std::uint32_t rounds, std::uint32_t seed,
            std::uint32_t& failed) {
    Campaign campaign(directory, seed);
    DET_TRY(campaign.prepare());
    for (std::uint32_t round = 1; round <= rounds; ++round) {
        DET_TRY_ASSIGN(auto const failure, campaign.play_round());
        if (failure.empty()) continue;
        ++failed;
        std::cout << "round " << round << ": " << failure << std::endl;
    }
    return Ok{};
}

}  // namespace

int main(int argc, char** argv) {
    std::uint32_t rounds = 100, seed = std::random_device{}();
    if (!faults::read_numbers(argc, argv, {{"--rounds", &rounds}, {"--seed", &seed}})) {
        std::cerr << "faults-campaign [--rounds N] [--seed N]\n";
        return 2;
    }
    auto name = (std::filesystem::temp_directory_path() / "det-faults-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) return 1;
    std::cout << "faults: " << rounds << " rounds with --seed " << seed << std::endl;
    std::uint32_t failed = 0;
    auto const played = play(name, rounds, seed, failed);
    static_cast<void>(remove_tree(name));
    if (!played) {
        std::cerr << "faults: error: " << played.error().message << '\n';
        return 1;
    }
    std::cout << rounds - failed << " passed, " << failed << " failed\n";
    return failed == 0 ? 0 : 1;
}
