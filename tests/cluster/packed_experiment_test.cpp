// `experiment archive --pack` on a real Slurm, by a plain user: what a training left becomes one file, which
// commands, the tracker and jobs of other experiments read, and becomes the same files again.
#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include "digits_cluster.hpp"

using namespace det;
using namespace std::chrono_literals;

namespace packed_experiment {

constexpr char one_node[] = "--template mpi --config resources.slots_per_trial=4 ";

struct Site : DigitsCluster {
    Site() : DigitsCluster(with_plugin()) {}

    int train(std::string const& more) const {
        auto const id = create(std::string(one_node) + "--config searcher.max_length.epochs=2 " + more);
        finish(id);
        return id;
    }
    /// Names, kinds, modes, times, sizes, links and hashes of what is in an experiment's directory.
    std::string files_of(int id) const {
        return shell(
            fmt::format("cd \"$DET_ROOT/experiments/{}\" && find . -printf '%P %y %m %g %T@ %l\\n' | sort && "
                        "find . -type f -printf '%P %s\\n' | sort && find . -type f -print0 | sort -z | "
                        "xargs -0 sha256sum",
                        id));
    }
    int count_files(int id) const {
        return std::stoi(shell(fmt::format("find \"$DET_ROOT/experiments/{}\" | wc -l", id)));
    }
    /// The answers of commands that show the experiment.
    std::vector<std::string> answers(int id) const {
        std::vector<std::string> answers;
        for (std::string const command :
             {"experiment describe {0}",
              "experiment describe {0} --json",
              "experiment config {0}",
              "experiment list-trials {0}",
              "experiment best {0}",
              "experiment compare {0}",
              "experiment report {0}",
              "experiment list-checkpoints {0} --json",
              "experiment logs {0}",
              "experiment wait {0}",
              "trial describe {0}.0 --json",
              "trial describe {0}.0 --metrics",
              "trial logs {0}.0",
              "trial metrics {0}.0 --csv",
              "trial profile {0}.0",
              "experiment list --all",
              "experiment download-model-def {0} -o model-def && cat model-def/*.csv.gz | sha256sum; rm -r "
              "model-def",
              "trial download {0}.0 -o copy && cat copy/* | sha256sum; rm -r copy",
              "tracker export {0}.0 --format jsonl",
              "experiment export {0} --tensorboard events && cat events/*/* | sha256sum; rm -r events"}) {
            answers.push_back(shell("det-submit " + fmt::format(fmt::runtime(command), id) + " 2>&1"));
        }
        return answers;
    }
};

}  // namespace packed_experiment

BOOST_FIXTURE_TEST_SUITE(packed_experiment, Site)

BOOST_AUTO_TEST_CASE(a_packed_experiment_is_shown_and_used_and_unpacked) {
    auto const id = train("");
    auto const before = files_of(id);
    auto const shown = answers(id);
    auto const files = count_files(id);
    BOOST_TEST(
        shell("det-submit tracker rebuild && det-submit tracker check").find("has what the journals have") !=
        std::string::npos);

    auto const report = ask(fmt::format("experiment archive --pack {}", id));
    BOOST_TEST(report.at("entries").get<int>() == files);
    BOOST_TEST(count_files(id) == 2);
    BOOST_TEST_MESSAGE("packed " << files << " files and directories, " << report.at("size_bytes")
                                 << " bytes, into " << report.at("packed_size_bytes"));
    BOOST_TEST(answers(id) == shown, boost::test_tools::per_element());
    BOOST_TEST(answers(id) == shown, boost::test_tools::per_element());  // now from the cache
    BOOST_TEST(
        shell("det-submit tracker rebuild && det-submit tracker check").find("has what the journals have") !=
        std::string::npos);
    // The page's data, by a tracker that runs.
    shell("det-submit tracker start");
    auto const page = shell(fmt::format(
        "det-submit experiment export {} --html page.html > exported && grep -c '{}.0' page.html", id, id));
    BOOST_TEST(std::stoi(page) > 0);
    shell("det-submit tracker stop");

    shell(fmt::format(
        "! det-submit experiment continue {0} 2> refused; grep -q 'archive --unpack {0}' refused", id));
    // Jobs of other experiments wait for it, and start from its checkpoint after they have compared its
    // manifest.
    auto const waiting = train(fmt::format("--config 'slurm.after=[{}]'", id));
    auto const warm = train(fmt::format("--config searcher.source_trial_id={}", id * 1'000'000));
    BOOST_TEST(trial(warm).at("state") == "COMPLETED");
    shell(fmt::format("det-submit experiment gc {} --dry-run", waiting));
    finish(ask(fmt::format("experiment fork {}", id)).at("id"));

    ask(fmt::format("experiment archive --unpack {}", id));
    BOOST_TEST(files_of(id) == before);
    BOOST_TEST(answers(id).front() == shown.front());
    // As if it were packed at the same time.
    shell(fmt::format(
        "! flock \"$DET_ROOT/experiments/.pack-lock-{0}\" det-submit experiment continue {0} "
        "--config searcher.max_length.epochs=3 2> refused; grep -q 'another process packs' refused",
        id));
    shell(fmt::format("det-submit experiment continue {} --config searcher.max_length.epochs=3", id));
    finish(id);
}

BOOST_AUTO_TEST_CASE(a_killed_command_loses_nothing) {
    auto const id = train("");
    // Without the time of the experiment's directory itself, on the first line: a command that is killed
    // after it has removed the pack can't set it.
    auto const files_in = [this](int experiment) {
        auto const files = files_of(experiment);
        return files.substr(files.find('\n'));
    };
    auto const before = files_in(id);
    for (auto const* const seconds : {"0.002", "0.005", "0.01", "0.02", "0.03", "0.05"}) {
        shell(fmt::format("timeout -s KILL {} det-submit experiment archive --pack {} || true", seconds, id));
        BOOST_TEST(ask(fmt::format("experiment describe {}", id)).at("state") == "COMPLETED");
        shell(fmt::format("det-submit experiment archive --pack {}", id));
        shell(
            fmt::format("timeout -s KILL {} det-submit experiment archive --unpack {} || true", seconds, id));
        BOOST_TEST(ask(fmt::format("trial describe {}.0", id)).at("state") == "COMPLETED");
        shell(fmt::format(
            "test ! -e \"$DET_ROOT/experiments/{0}/pack\" || det-submit experiment archive --unpack {0}",
            id));
        auto const after = files_in(id);
        BOOST_TEST(after == before, "after " << seconds << " s:\n" << after << "\nbefore:\n" << before);
    }
}

BOOST_AUTO_TEST_SUITE_END()
