// Trials whose newest checkpoints are damaged continue from older ones, and never begin anew beside them.
#include <det/foundation/files.hpp>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>

#include "check_result.hpp"
#include "digits_cluster.hpp"
#include "test_paths.hpp"

using namespace det;
using namespace std::chrono_literals;

namespace damaged_checkpoints {

namespace fs = std::filesystem;

/// A trial of a program that saves often and does not end by itself.
struct Program {
    std::string arguments;  // of `experiment create`
    std::string file;       // the file of its checkpoints that is damaged
};
Program const digits{std::string(DigitsCluster::endless), "weights"};
Program const core_api{
    "--config resources.slots_per_trial=1 --config slurm.mpi=none --config 'entrypoint=python3 "
    "saving_often.py' ",
    "weights"};
// Every ten batches, so that there are several checkpoints soon.
Program const pytorch_trial{
    "--config resources.slots_per_trial=4 --config slurm.mpi=none "
    "--config 'entrypoint=python3 -m determined.launch.torch_distributed --trial "
    "pytorch_trial:InterruptedTrial' "
    "--config 'hyperparameters={global_batch_size: 16, hidden: 8, samples: 100, pause_s: 0.02}' "
    "--config 'searcher={name: single, metric: validation_loss, max_length: {batches: 1000000}}' "
    "--config scheduling_unit=10 --config 'min_checkpoint_period={batches: 20}' ",
    "rank-00000.safetensors"};

struct Site : DigitsCluster {
    Site() : DigitsCluster(with_plugin()) {
        for (auto const* name : {"saving_often.py", "pytorch_trial.py"}) {
            auto const text =
                must(read_file(det::test::source_path(std::string("tests/cluster/programs/") + name)));
            must(write_file(home() / "code" / name, text, 0644));
        }
    }
    std::vector<std::string> checkpoints(int id) const {
        std::vector<std::string> uuids;
        for (auto const& row : ask(fmt::format("experiment list-checkpoints {}", id)))
            uuids.push_back(row.at("uuid"));
        return uuids;
    }
    fs::path file(std::string const& uuid, std::string const& name) const {
        return root() / "checkpoints" / uuid / name;
    }
    /// Runs the trial until it has two more checkpoints, and pauses it.
    std::vector<std::string> train_and_pause(int id) const {
        auto const before = checkpoints(id).size();
        for (int pauses = 1; checkpoints(id).size() < before + 2; ++pauses) {
            if (pauses > 1) shell(fmt::format("det-submit experiment activate {}", id));
            wait_until([&] { return state(id) == "RUNNING"; }, 60s, "it runs");
            auto const had = checkpoints(id).size();
            auto const run = trial(id).at("runs").size() - 1;
            wait_until(
                [&] {
                    auto const log =
                        shell(fmt::format("det trial logs {} --run {} 2>/dev/null || true", id, run));
                    return checkpoints(id).size() > had || log.find("epoch") != std::string::npos;
                },
                90s, "it trains");
            shell(fmt::format("det-submit experiment pause {}", id));
            wait_for_state(id, "PAUSED");
        }
        return checkpoints(id);
    }
    fs::path last_shard(std::string const& uuid) const {
        fs::path last;
        for (auto const& entry : fs::directory_iterator(root() / "checkpoints" / uuid)) {
            if (entry.path().extension() == ".safetensors") last = std::max(last, entry.path());
        }
        BOOST_REQUIRE(!last.empty());
        return last;
    }
    static void flip_a_bit(fs::path const& path) { flip_a_bit(path, fs::file_size(path) / 2); }
    /// The tensors are at the end of the file.
    static void flip_a_bit_of_the_last_tensor(fs::path const& path) {
        flip_a_bit(path, fs::file_size(path) - 1);
    }
    static void flip_a_bit(fs::path const& path, std::uintmax_t offset) {
        auto const at = static_cast<std::streamoff>(offset);
        std::fstream stream(path, std::ios::in | std::ios::out | std::ios::binary);
        stream.seekg(at);
        auto const byte = static_cast<char>(stream.get());
        stream.seekp(at);
        stream.put(static_cast<char>(byte ^ 1));
        BOOST_REQUIRE(stream.flush().good());
    }
    std::string output(int id) const {
        return shell(fmt::format("cat {}/slurm-*.out", directory(id).string()));
    }
    /// Activates the trial and waits for a run that has started from the checkpoint.
    void activate_from(int id, std::string const& uuid) const {
        shell(fmt::format("det-submit experiment activate {}", id));
        wait_until(
            [&] {
                auto const runs = trial(id).at("runs");
                BOOST_REQUIRE_MESSAGE(state(id) != "ERROR", runs.dump(2) << output(id));
                return runs.back().at("latest_checkpoint") == uuid && runs.back().at("cause").is_null();
            },
            90s, "a run starts from checkpoint " + uuid);
    }

    void check(Program const& program) const {
        auto const id = create(program.arguments + "--config max_restarts=0");
        auto const saved = train_and_pause(id);
        auto const& newest = saved.back();
        auto const& older = saved[saved.size() - 2];
        auto const before = trial(id).at("runs").size();
        flip_a_bit(file(newest, program.file));
        activate_from(id, older);
        auto const runs = trial(id).at("runs");
        BOOST_REQUIRE_MESSAGE(runs.size() == before + 2, runs.dump(2));
        BOOST_TEST(runs.at(before).at("latest_checkpoint") == newest);
        BOOST_TEST(runs.at(before).at("cause") == "checkpoint-damaged", runs.dump(2));
        BOOST_TEST(runs.at(before).at("follow") == "restart-in-place");
        auto const text = output(id);
        auto const said = "not used: checkpoint " + newest + " is damaged: ";
        BOOST_TEST(text.find(said) != std::string::npos, text);
        BOOST_TEST(text.find("'" + program.file + "'", text.find(said)) != std::string::npos, text);
        shell(fmt::format("det-submit experiment kill {}", id));
    }
};

}  // namespace damaged_checkpoints

BOOST_FIXTURE_TEST_SUITE(damaged_checkpoints, Site)

BOOST_AUTO_TEST_CASE(a_cpp_program_continues_from_the_checkpoint_before_the_damaged_one) { check(digits); }

BOOST_AUTO_TEST_CASE(a_core_api_program_continues_from_the_checkpoint_before_the_damaged_one) {
    check(core_api);
}

BOOST_AUTO_TEST_CASE(a_pytorch_trial_continues_from_the_checkpoint_before_the_damaged_one) {
    if (shell("python3 -c 'import torch' 2>&1 || true") != "") {
        BOOST_TEST_MESSAGE("SKIPPED: there is no torch");
        return;
    }
    check(pytorch_trial);
}

// det_checkpoint_load() with DET_ON_DAMAGE_TAKE_OLDER goes on within the same run. The policy keeps all
// checkpoints, because the usual one leaves only the newest when the trial has ended.
BOOST_AUTO_TEST_CASE(a_c_program_continues_from_the_checkpoint_before_the_damaged_one) {
    auto const id = create(
        "--config resources.slots_per_trial=2 --config slurm.mpi=none --config slurm.launch=rank "
        "--config max_restarts=0 --config checkpoint_storage.save_trial_latest=9 "
        "--config 'searcher={name: single, metric: loss, max_length: {batches: 300}}' "
        "--config 'entrypoint=[" DET_EXAMPLE_LINE "]'");
    finish(id);
    auto const saved = checkpoints(id);  // at steps 100, 200 and 300
    BOOST_REQUIRE_EQUAL(saved.size(), 3u);
    flip_a_bit_of_the_last_tensor(last_shard(saved.back()));
    shell(fmt::format("det-submit experiment continue {} --config searcher.max_length.batches=500", id));
    finish(id);
    auto const logs = shell(fmt::format("det trial logs {} --run 1", id));
    BOOST_TEST(logs.find("resumed at step 200") != std::string::npos, logs);
    BOOST_TEST(logs.find("at step 500") != std::string::npos, logs);
    auto const runs = trial(id).at("runs");
    BOOST_REQUIRE_MESSAGE(runs.size() == 2u, runs.dump(2));
    BOOST_TEST(runs.at(1).at("latest_checkpoint") == saved.back());
    BOOST_TEST(runs.at(1).at("cause") == "finished");
}

BOOST_AUTO_TEST_CASE(damage_that_shows_without_reading_costs_no_run_and_damage_of_all_ends_the_trial) {
    auto const id = create(core_api.arguments + "--config max_restarts=0");
    auto const saved = train_and_pause(id);
    auto const before = trial(id).at("runs").size();
    fs::resize_file(file(saved.back(), "weights"), 3);
    activate_from(id, saved[saved.size() - 2]);
    BOOST_TEST(trial(id).at("runs").size() == before + 1);
    BOOST_TEST(output(id).find("'weights' has 3 bytes in place of 9") != std::string::npos, output(id));
    shell(fmt::format("det-submit experiment pause {}", id));
    wait_for_state(id, "PAUSED");

    auto const all = checkpoints(id);
    for (auto const& uuid : all) fs::remove(file(uuid, "weights"));
    auto const paused = trial(id).at("runs").size();
    shell(fmt::format("det-submit experiment activate {}", id));
    wait_for_state(id, "ERROR");
    auto const runs = trial(id).at("runs");
    BOOST_REQUIRE_MESSAGE(runs.size() == paused + 1, runs.dump(2));
    BOOST_TEST(runs.back().at("cause") == "checkpoint-damaged");
    auto const message = runs.back().at("message").get<std::string>();
    BOOST_TEST(message.find(fmt::format("has {} checkpoints, and none can be used", all.size())) !=
                   std::string::npos,
               message);
    BOOST_TEST(message.find(fmt::format("det-submit experiment fork {}", id)) != std::string::npos, message);
    auto const job = runs.back().at("job").get<std::string>();
    BOOST_TEST(shell(fmt::format("scontrol show job {} | grep -o 'ExitCode=[0-9]*'", job)) == "ExitCode=8");
}

BOOST_AUTO_TEST_SUITE_END()
