// slurm.stage on a real Slurm, whose nodes have local directories of their own.
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check_result.hpp"
#include "loopback_cluster.hpp"

using namespace det;
using namespace std::chrono_literals;

namespace staged_files {

constexpr int node_count = 3;

LoopbackOptions three_nodes() {
    LoopbackOptions options;
    options.nodes = node_count;
    options.slots = 2;
    return options;
}

bool contains(std::string const& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// Three nodes. In the home of researcher is code that shows what a node has, and an environment.
struct Site : LoopbackCluster {
    Site() : LoopbackCluster(three_nodes()) {
        shell(
            "mkdir -p code env/bin && printf '#!/bin/sh\\necho from the environment\\n' >env/bin/hello && "
            "chmod 755 env/bin/hello && "
            "tar -czf env.tar.gz -C env . && head -c 20000000 /dev/urandom >model.bin && "
            "printf 'echo $SLURMD_NODENAME: $($DET_STAGE/env/bin/hello) $(sha256sum "
            "<$DET_STAGE/model.bin)\\n' >code/show.sh");
    }

    nlohmann::json ask(std::string const& command) const {
        return nlohmann::json::parse(shell("det-submit " + command + " --json"));
    }
    void write_config(
        std::string const& slurm,
        std::string const& rest = "entrypoint: sh show.sh\nresources: {slots_per_trial: 6}\n") const {
        must(write_file(
            home() / "exp.yaml",
            "name: staged\nsearcher: {name: single, metric: x, max_length: 1}\nslurm: {slots_per_node: 2, " +
                slurm + "}\n" + rest,
            0644));
    }
    int create(std::string const& options = "") const {
        return ask("experiment create exp.yaml code " + options)["id"].get<int>();
    }
    /// What `experiment create` says when it refuses the configuration.
    std::string refusal() const {
        auto const ended =
            login("researcher", {"sh", "-c", "cd && det-submit experiment create exp.yaml code"});
        BOOST_TEST(ended.exit_code != 0, ended.out);
        return ended.err;
    }
    void wait_for_state(int experiment, std::string const& wanted) const {
        std::string state;
        wait_until(
            [&] {
                state = ask(fmt::format("experiment describe {}", experiment)).at("state");
                return state == wanted || (state == "ERROR" || state == "COMPLETED");
            },
            120s, fmt::format("experiment {} is {}", experiment, wanted));
        BOOST_TEST(state == wanted, describe(experiment));
    }
    std::string describe(int experiment) const {
        return shell(
            fmt::format("det-submit experiment describe {0} --trials; det-submit trial logs {0} 2>&1 || true",
                        experiment));
    }
    std::string logs(int experiment) const {
        return shell(fmt::format("det-submit trial logs {}", experiment));
    }
    std::filesystem::path tmp(int node) const { return state() / fmt::format("nodes/n{}/tmp", node); }
    std::filesystem::path stage(int node) const { return tmp(node) / ("det-" + shell("id -u")) / "stage"; }
    /// Holds the lock of model.bin on a node, as a process of another job does that brings the file there.
    UniqueFd lock_model(int node) const {
        auto const locks = stage(node) / "locks";
        struct stat owner {};
        BOOST_REQUIRE(::stat(locks.c_str(), &owner) == 0);
        UniqueFd file(::open((locks / hash_of_model()).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
        BOOST_REQUIRE(::fchown(file.get(), owner.st_uid, owner.st_gid) == 0);
        BOOST_REQUIRE(::flock(file.get(), LOCK_EX | LOCK_NB) == 0);
        return file;
    }
    /// Names of the steps that run now.
    std::string steps() const { return shell("squeue --steps --noheader --format=%j"); }
    /// Lets the nodes make their directories, and holds the lock of model.bin on one of them: a run that
    /// needs the file waits there for ten minutes.
    UniqueFd block_model() const {
        write_config("stage: [env.tar.gz]", "entrypoint: 'true'\nresources: {slots_per_trial: 6}\n");
        wait_for_state(create(), "COMPLETED");
        write_config("stage: [env.tar.gz, model.bin]");
        return lock_model(1);
    }
    void wait_for_stage_step() const {
        wait_until([&] { return contains(steps(), ".stage"); }, 60s, "the step that brings the files runs");
    }
    std::string hash_of_model() const { return shell("sha256sum <model.bin | cut -c1-64"); }
    /// Every node shows the environment and the file.
    void check_nodes(std::string const& log) const {
        auto const sum = hash_of_model();
        for (int node = 0; node < node_count; ++node)
            BOOST_TEST(contains(log, fmt::format("n{}: from the environment {}", node, sum)), log);
    }
};

}  // namespace staged_files
using staged_files::contains;
using staged_files::node_count;

BOOST_FIXTURE_TEST_SUITE(staged_files, staged_files::Site)

BOOST_AUTO_TEST_CASE(one_node_reads_the_files_and_later_jobs_read_nothing) {
    write_config("stage: [env.tar.gz, model.bin]");
    auto const first = create();
    wait_for_state(first, "COMPLETED");
    check_nodes(logs(first));
    for (int node = 0; node < node_count; ++node) {
        auto const entries = must(list_directory(stage(node) / "entries"));
        BOOST_TEST(entries.size() == 3u);  // and the code
    }
    // The second experiment is submitted, then its files go.
    auto const sum_line = hash_of_model();
    auto const second = create("--paused");
    shell("mkdir kept && mv env.tar.gz model.bin kept/");
    shell(fmt::format("det-submit experiment activate {}", second));
    wait_for_state(second, "COMPLETED");
    shell("mv kept/* .");
    BOOST_TEST(hash_of_model() == sum_line);
    check_nodes(logs(second));
    // A node that has lost its copies reads them again.
    must(remove_tree(stage(1)));
    auto const third = create();
    wait_for_state(third, "COMPLETED");
    check_nodes(logs(third));
}

BOOST_AUTO_TEST_CASE(files_that_cannot_be_staged_are_refused_at_submission) {
    write_config("stage: [env.tar.gs, env, model.bin], stage_limit: 1M");
    auto const text = refusal();
    BOOST_TEST(contains(text, "exp.yaml:3:"), text);
    BOOST_TEST(contains(text, "slurm.stage: there is no file '" + shell("echo $HOME") + "/env.tar.gs'"),
               text);
    BOOST_TEST(contains(text, "env.tar.gz' is there"), text);
    BOOST_TEST(contains(text, "env' is a directory"), text);
    BOOST_TEST(contains(text, "more than slurm.stage_limit, 1.0 MiB; the largest is"), text);
    write_config("stage: [env.tar.gz, code/../env/../env.tar.gz, other/env.tar]");
    shell("mkdir other && cp model.bin other/env.tar");
    auto const same_name = refusal();
    BOOST_TEST(contains(same_name, "would both be 'env' on the nodes"), same_name);
    BOOST_TEST(shell("ls $DET_ROOT/experiments 2>/dev/null | wc -l") == "0");
}

BOOST_AUTO_TEST_CASE(a_file_that_fails_on_the_nodes_ends_the_trial_with_the_reason) {
    write_config("stage: [env.tar.gz, model.bin]");
    auto const changed = create("--paused");
    shell("printf x | dd of=model.bin conv=notrunc status=none");
    shell(fmt::format("det-submit experiment activate {}", changed));
    wait_for_state(changed, "ERROR");
    BOOST_TEST(contains(describe(changed), "has changed since the experiment was submitted"),
               describe(changed));
    // An archive that grows beyond the limit when it is unpacked.
    shell("mkdir zeros && head -c 50000000 /dev/zero >zeros/z && tar -czf zeros.tar.gz -C zeros .");
    write_config("stage: [zeros.tar.gz], stage_limit: 10M");
    auto const large = create();
    wait_for_state(large, "ERROR");
    BOOST_TEST(contains(describe(large), "it holds more than 10.0 MiB"), describe(large));
    for (int node = 0; node < node_count; ++node)
        BOOST_TEST(must(list_directory(stage(node) / "incoming")).empty());
}

BOOST_AUTO_TEST_CASE(a_user_who_stops_the_trial_does_not_wait_for_its_files) {
    auto lock = block_model();
    auto const check_end = [&](int id, std::string const& state, std::string const& end) {
        wait_until([&] { return ask(fmt::format("experiment describe {}", id)).at("state") == state; }, 30s,
                   fmt::format("experiment {} is {}", id, state));
        BOOST_TEST(contains(describe(id), end), describe(id));
        wait_until([&] { return steps().empty(); }, 30s, "no step runs");
        auto const files = shell(fmt::format("ls $DET_ROOT/experiments/{}/trials/0/runs/0", id));
        BOOST_TEST(!contains(files, "stage"), files);
    };
    auto const killed = create();
    wait_for_stage_step();
    shell(fmt::format("det-submit experiment kill {}", killed));
    check_end(killed, "CANCELED", "the user killed it");
    auto const paused = create();
    wait_for_stage_step();
    shell(fmt::format("det-submit experiment pause {}", paused));
    check_end(paused, "PAUSED", "the user paused it; the trainer was not started");
    lock = UniqueFd();
    shell(fmt::format("det-submit experiment activate {}", paused));
    wait_for_state(paused, "COMPLETED");
    check_nodes(logs(paused));
}

BOOST_AUTO_TEST_CASE(a_job_that_is_preempted_does_not_wait_for_its_files) {
    auto lock = block_model();
    auto const id = create();
    // The tasks of all nodes run: a task that has not started yet gets no signal of Slurm.
    auto const has_model = [&](int node) { return path_exists(stage(node) / "entries" / hash_of_model()); };
    wait_until([&] { return has_model(0) && has_model(2); }, 60s, "the nodes without the lock have the file");
    shell("srun --partition urgent --nodes 3 true");
    lock = UniqueFd();
    wait_for_state(id, "COMPLETED");
    check_nodes(logs(id));
    auto const runs = ask(fmt::format("experiment describe {}", id))["trials"][0]["runs"];
    BOOST_REQUIRE(runs.size() == 2u);
    BOOST_TEST(runs[0]["cause"] == "preempted");
    BOOST_TEST(runs[0]["follow"] == "requeue");
    BOOST_TEST(contains(runs[0].dump(), "Slurm preempted the job; the trainer was not started"),
               runs[0].dump(2));
    BOOST_TEST(runs[1]["restart_count"] == 1);
}

BOOST_AUTO_TEST_CASE(trials_that_share_a_node_bring_the_files_once_for_their_job) {
    write_config("stage: [env.tar.gz, model.bin], trials_per_node: 2",
                 "entrypoint: sh show.sh\nresources: {slots_per_trial: 1}\nhyperparameters: {n: {type: int, "
                 "minval: 0, "
                 "maxval: 9}}\n");
    shell(
        "sed -i 's/name: single, metric: x,/name: random, metric: x, max_trials: 4, max_concurrent_trials: "
        "2,/' exp.yaml");
    auto const id = create();
    wait_for_state(id, "COMPLETED");
    auto const sum = hash_of_model();
    for (int trial = 0; trial < 4; ++trial) {
        auto const log = shell(fmt::format("det-submit trial logs {}.{}", id, trial));
        BOOST_TEST(contains(log, ": from the environment " + sum), log);
    }
}

BOOST_AUTO_TEST_CASE(a_container_starts_from_the_nodes_own_copy_of_its_image_and_sees_the_files) {
    // A runtime that shows how it is called.
    shell(
        "printf '#!/bin/sh\\nfor word; do echo \"word $word\"; done\\n' >runtime && chmod 755 runtime && cp "
        "model.bin torch.sif && "
        "printf 'version: 1\\ncontainer_template: {name: shows, command: [%s/runtime, "
        "\"--mount={source}:{target}:{mode}\", \"{image}\"]}\\n' \"$HOME\" >site.yaml");
    write_config("stage: [torch.sif]",
                 "entrypoint: sh show.sh\nenvironment: {image: " + shell("echo $HOME/torch.sif") + "}\n");
    auto const id = nlohmann::json::parse(shell(
        "DET_SITE=$HOME/site.yaml det-submit experiment create exp.yaml code --json"))["id"]
                        .get<int>();
    wait_for_state(id, "COMPLETED");
    auto const log = logs(id);
    auto const on_node = "/tmp/det-" + shell("id -u") + "/stage";
    BOOST_TEST(contains(log, "word " + on_node + "/jobs/2_0/torch.sif"), log);
    BOOST_TEST(contains(log, fmt::format("word --mount={0}:{0}:ro", on_node)), log);
}

BOOST_AUTO_TEST_CASE(another_user_who_has_the_directorys_name_on_a_node_does_not_stop_the_runs) {
    auto const taken = stage(1).parent_path();
    must(remove_tree(taken));
    must(make_directory(taken, 0755));  // of root
    write_config("stage: [env.tar.gz, model.bin]");
    for (int run = 0; run < 2; ++run) {
        auto const id = create();
        wait_for_state(id, "COMPLETED");
        check_nodes(logs(id));
    }
    // Both runs have used the same files. Their own directories there have a suffix of the run.
    std::size_t places = 0;
    for (auto const& name : must(list_directory(tmp(1))))
        if (path_exists(tmp(1) / name / "stage/entries")) ++places;
    BOOST_TEST(places == 1u);
    BOOST_TEST(must(list_directory(taken)).empty());
}

BOOST_AUTO_TEST_CASE(the_steps_of_a_batch_script_have_the_files_on_all_nodes) {
    write_config("launch: script, stage: [env.tar.gz, model.bin]",
                 "entrypoint: srun sh show.sh\nresources: {slots_per_trial: 6}\n");
    auto const id = create();
    wait_for_state(id, "COMPLETED");
    check_nodes(logs(id));
}

BOOST_AUTO_TEST_SUITE_END()
