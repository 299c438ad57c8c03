// What signals and requests do to programs of a trial: nothing is lost and nothing hangs, whether Slurm
// signals only the tasks (proctrack/cgroup) or every process of the job (proctrack/linuxproc).
#include <det/foundation/clock.hpp>
#include <det/foundation/files.hpp>

#include <algorithm>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "check_result.hpp"
#include "loopback_cluster.hpp"
#include "test_paths.hpp"

using namespace det;
using namespace std::chrono_literals;

namespace signals_test {

namespace fs = std::filesystem;

/// Entrypoints of programs that save when they are asked to stop.
struct Program {
    char const *name, *entrypoint;
    char const* slurm = "";
};
constexpr Program saving_programs[] = {
    {"bash", "cd . && python3 signalled_training.py && echo the shell goes on"},
    {"dash", "dash -c 'python3 signalled_training.py; exit $?'"},
    {"env-and-nohup", "env A=b nohup python3 signalled_training.py"},
    {"data-loader", "/usr/bin/python3 signalled_training.py torch"},
    {"torchrun", "det-launch torch_distributed bash -c '/usr/bin/python3 signalled_training.py; exit $?'"},
};

struct Site : LoopbackCluster {
    explicit Site(std::string const& proctrack, int nodes = static_cast<int>(std::size(saving_programs)))
        : LoopbackCluster(options_with(proctrack, nodes)) {
        shell("mkdir code");
        for (auto const* name :
             {"signalled_training.py", "raising_trial.py", "exit_on_term.py", "save_on_term.py"}) {
            auto const source = det::test::source_path(fmt::format("tests/cluster/programs/{}", name));
            must(write_file(home() / "code" / name, must(read_file(source)), 0644));
        }
    }
    static LoopbackOptions options_with(std::string const& proctrack, int nodes) {
        LoopbackOptions options;
        options.nodes = nodes;
        options.slots = 1;
        options.grace_s = 20;
        options.proctrack = proctrack;
        return options;
    }
    nlohmann::json ask(std::string const& command) const {
        return nlohmann::json::parse(shell("det-submit " + command + " --json"));
    }
    int create(std::string const& name, std::string const& entrypoint, std::string const& slurm = "",
               std::string const& more = "max_restarts: 0") const {
        must(write_file(home() / "exp.yaml",
                        fmt::format("name: {}\nentrypoint: {}\n"
                                    "searcher: {{name: single, metric: loss, max_length: {{batches: 100}}}}\n"
                                    "resources: {{slots_per_trial: 1}}\nslurm: {{{}}}\n{}\n",
                                    name, entrypoint, slurm, more),
                        0644));
        return ask("experiment create exp.yaml code")["id"].get<int>();
    }
    std::string log(int experiment) const {
        return shell(fmt::format("det-submit trial logs {} || true", experiment));
    }
    nlohmann::json describe(int experiment) const {
        return ask(fmt::format("experiment describe {}", experiment));
    }
    nlohmann::json runs(int experiment) const { return describe(experiment)["trials"][0]["runs"]; }
    void wait_for_state(int experiment, std::string const& state) const {
        wait_until([&] { return describe(experiment)["state"] == state; }, 120s,
                   fmt::format("experiment {} is {}", experiment, state));
    }
    void wait_for_line(int experiment, std::string const& line) const {
        wait_until([&] { return (log(experiment) + "\n").find(line + "\n") != std::string::npos; }, 120s,
                   fmt::format("experiment {} prints '{}'", experiment, line));
    }
    std::vector<int> create_saving_programs() const {
        std::vector<int> ids;
        for (auto const& program : saving_programs)
            ids.push_back(create(program.name, program.entrypoint, program.slurm));
        for (auto const id : ids) wait_for_line(id, "step 10");
        return ids;
    }
    /// Checks that the second run began at the step at which the first one had saved when it was told.
    void check_nothing_is_lost(int experiment, std::string const& cause) const {
        auto const runs_of = runs(experiment);
        auto const text = log(experiment);
        BOOST_REQUIRE_MESSAGE(runs_of.size() == 2u, runs_of.dump(2) << text);
        BOOST_TEST(runs_of[0]["cause"] == cause, runs_of.dump(2) << text);
        BOOST_TEST(runs_of[0]["message"].get<std::string>().find("saved its work") != std::string::npos,
                   runs_of.dump(2) << text);
        BOOST_TEST(runs_of[1]["cause"] == "finished", runs_of.dump(2));
        auto const saved = text.find("saved at step ");
        BOOST_REQUIRE_MESSAGE(saved != std::string::npos, text);
        auto const step = std::stoi(text.substr(saved + 14));
        BOOST_TEST(step >= 10);
        BOOST_TEST(text.find(fmt::format("begins at step {}", step)) != std::string::npos, text);
    }
};

constexpr char const* all_proctracks[] = {"cgroup", "linuxproc"};

}  // namespace signals_test

BOOST_AUTO_TEST_SUITE(signals_test)

namespace bdata = boost::unit_test::data;

BOOST_DATA_TEST_CASE(a_pause_loses_nothing_whatever_starts_the_program, bdata::make(all_proctracks),
                     proctrack) {
    Site const site(proctrack);
    auto const ids = site.create_saving_programs();
    for (auto const id : ids) site.shell(fmt::format("det-submit experiment pause {}", id));
    for (auto const id : ids) site.wait_for_state(id, "PAUSED");
    for (auto const id : ids) site.shell(fmt::format("det-submit experiment activate {}", id));
    for (std::size_t i = 0; i < ids.size(); ++i) {
        site.wait_for_state(ids[i], "COMPLETED");
        BOOST_TEST_CONTEXT(saving_programs[i].name) site.check_nothing_is_lost(ids[i], "paused");
    }
    BOOST_TEST(site.log(ids[0]).find("the shell goes on") != std::string::npos);
}

BOOST_DATA_TEST_CASE(a_preemption_loses_nothing_whatever_starts_the_program, bdata::make(all_proctracks),
                     proctrack) {
    Site const site(proctrack);
    auto const ids = site.create_saving_programs();
    site.shell(fmt::format("srun --partition urgent --nodes {} true", ids.size()), 120s);
    for (std::size_t i = 0; i < ids.size(); ++i) {
        site.wait_for_state(ids[i], "COMPLETED");
        BOOST_TEST_CONTEXT(saving_programs[i].name) site.check_nothing_is_lost(ids[i], "preempted");
    }
}

BOOST_AUTO_TEST_CASE(a_trial_that_raises_ends_at_once_though_its_data_loader_has_workers) {
    Site const site("linuxproc", 2);
    std::vector<int> ids;
    for (auto const* entrypoint :
         {"[/usr/bin/python3, -m, determined.exec.harness, 'raising_trial:RaisingTrial']",
          "det-launch torch_distributed /usr/bin/python3 -m determined.exec.harness "
          "raising_trial:RaisingTrial"})
        ids.push_back(site.create("raises", entrypoint, "",
                                  "max_restarts: 0\nhyperparameters: {global_batch_size: 4}"));
    for (auto const id : ids) {
        site.wait_for_line(id, "RuntimeError: the training raises");
        auto const raised = std::chrono::steady_clock::now();
        site.wait_for_state(id, "ERROR");
        // On an idle machine it takes four seconds, and below the launcher seven.
        BOOST_TEST((std::chrono::steady_clock::now() - raised < 30s));
        BOOST_TEST(site.runs(id)[0]["cause"] == "failed");
    }
}

BOOST_AUTO_TEST_CASE(a_nested_srun_gets_no_signal_but_its_tasks_do) {
    Site const site("cgroup", 2);
    site.shell("mkdir saved");
    std::vector<int> ids;
    for (auto const* name : {"paused", "preempted"})
        ids.push_back(site.create(
            name,
            fmt::format(
                "srun --overlap --ntasks=1 python3 exit_on_term.py 0 {}/saved/{}; echo srun ended with $?",
                site.home().string(), name),
            "forward_signals: [TERM]"));
    for (auto const id : ids) site.wait_for_line(id, "step 10");
    site.shell(fmt::format("det-submit experiment pause {}", ids[0]));
    site.wait_for_state(ids[0], "PAUSED");
    site.shell("srun --partition urgent --nodes 2 true", 120s);
    site.shell(fmt::format("det-submit experiment activate {}", ids[0]));
    for (std::size_t i = 0; i < ids.size(); ++i) {
        site.wait_for_state(ids[i], "COMPLETED");
        auto const text = site.log(ids[i]);
        BOOST_TEST(text.find("srun ended with 0") != std::string::npos, text);
        BOOST_TEST(text.find("forcing job termination") == std::string::npos, text);
        auto const runs = site.runs(ids[i]);
        BOOST_TEST(runs[0]["cause"] == (i == 0 ? "paused" : "preempted"), runs.dump(2) << text);
    }
}

// Slurm's TERM ends torchrun, which ends with 1, and sleep.
BOOST_AUTO_TEST_CASE(an_end_after_slurms_notice_is_a_preemption_whatever_the_exit_code) {
    Site const site("linuxproc", 2);
    site.shell("mkdir saved");
    auto const torchrun = site.create(
        "torchrun",
        fmt::format("/usr/bin/python3 -m torch.distributed.run --redirects 9:1 --tee 9:1 --nproc_per_node 2 "
                    "save_on_term.py {}/saved/torchrun",
                    site.home().string()),
        "forward_signals: [TERM]");
    auto const sleeper = site.create("sleep", "echo begins; sleep 600");
    site.wait_for_line(torchrun, "step 10");
    site.wait_for_line(sleeper, "begins");
    site.shell("srun --partition urgent --nodes 2 true", 120s);
    site.wait_for_state(torchrun, "COMPLETED");
    auto const text = site.log(torchrun);
    auto const saved = text.find("saved at step ");
    BOOST_REQUIRE_MESSAGE(saved != std::string::npos, text);
    auto const step = std::stoi(text.substr(saved + 14));
    BOOST_TEST(text.find(fmt::format("begins at step {}", step)) != std::string::npos, text);
    site.wait_until([&] { return site.runs(sleeper).size() == 2u; }, 120s, "the second run of sleep");
    for (auto const id : {torchrun, sleeper})
        BOOST_TEST(site.runs(id)[0]["cause"] == "preempted", site.runs(id).dump(2) << text);
    BOOST_TEST(site.runs(torchrun)[0]["exit_code"] == 1);
    site.shell(fmt::format("det-submit experiment kill {}", sleeper));
}

BOOST_AUTO_TEST_SUITE_END()
