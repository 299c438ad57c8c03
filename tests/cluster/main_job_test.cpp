// Experiments on a real Slurm, from a configuration file to a trained network.
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <set>

#include "check_result.hpp"
#include "digits_cluster.hpp"
#include "golden.hpp"

using namespace det;

namespace main_job {

LoopbackOptions four_nodes(LoopbackOptions::Plugin plugin) {
    LoopbackOptions options;
    options.nodes = 4;
    options.plugin = plugin;
    return options;
}

struct WithPlugin : DigitsCluster {
    WithPlugin() : DigitsCluster(four_nodes(LoopbackOptions::Plugin::when_built)) {}
};

constexpr auto short_training = " --config searcher.max_length.epochs=4";

/// The paths of the files below a directory, sorted, one per line.
std::string file_tree(std::filesystem::path const& directory) {
    std::set<std::string> files;
    for (auto const& entry : std::filesystem::recursive_directory_iterator(directory)) {
        if (entry.is_regular_file())
            files.insert(std::filesystem::relative(entry.path(), directory).string());
    }
    std::string text;
    for (auto const& file : files) text += file + "\n";
    return text;
}

}  // namespace main_job

BOOST_AUTO_TEST_SUITE(main_job)

BOOST_FIXTURE_TEST_CASE(eight_ranks_on_two_nodes_learn_what_one_rank_learns, WithPlugin) {
    auto const eight = create("--template mpi");
    auto const one = create("--template mpi --config resources.slots_per_trial=1");
    finish(eight);
    finish(one);

    BOOST_TEST(accuracy(eight) > 0.9);
    BOOST_TEST(difference(newest_checkpoint(eight), newest_checkpoint(one)) == "");

    auto const described = ask(fmt::format("experiment describe {}", eight));
    BOOST_TEST(described["state"] == "COMPLETED");
    BOOST_TEST(described["nodes"] == 2);
    auto const run = described["trials"][0]["runs"][0];
    BOOST_TEST(run["cause"] == "finished");
    BOOST_TEST(run["exit_code"] == 0);
    // The supervisor removes checkpoints after it has recorded the end.
    wait_until([&] { return ask("job list").empty(); }, std::chrono::seconds(30), "the jobs end");
    check_golden("cli/finished_experiment_files.txt", file_tree(directory(eight)));
}

BOOST_FIXTURE_TEST_CASE(ranks_on_several_nodes_need_neither_mpirun_nor_slurms_pmix, WithPlugin) {
    auto const by_mpi = create(std::string("--template mpi --config "
                                           "'environment.environment_variables=[DET_TRANSPORT=mpi]'") +
                               short_training);
    auto const alone = create(std::string("--config slurm.launch=rank") + short_training);
    finish(by_mpi);
    finish(alone);
    BOOST_TEST(difference(newest_checkpoint(by_mpi), newest_checkpoint(alone)) == "");
}

BOOST_AUTO_TEST_CASE(without_the_plugin_the_result_is_the_same) {
    WithPlugin with;
    DigitsCluster without(four_nodes(LoopbackOptions::Plugin::off));
    auto const a = with.create(std::string("--template mpi") + short_training);
    auto const b = without.create(std::string("--template mpi") + short_training);
    with.finish(a);
    without.finish(b);

    auto const weights = [](DigitsCluster const& cluster, int experiment) {
        return must(read_file(cluster.newest_checkpoint(experiment) / "weights"));
    };
    BOOST_TEST((weights(with, a) == weights(without, b)), "the weights differ");
    // In both cases each line has the label of its rank.
    for (DigitsCluster const* cluster : std::initializer_list<DigitsCluster const*>{&with, &without}) {
        auto const lines = must(read_file(cluster->directory(1) / "trials/0/runs/0/node-0.log"));
        BOOST_TEST(lines.find("[rank=0] epoch 4:") != std::string::npos, lines);
    }
}

BOOST_FIXTURE_TEST_CASE(a_launcher_on_the_first_node_starts_the_ranks_where_launch_is_node, WithPlugin) {
    auto const by_rank = create(std::string("--template mpi") + short_training);
    auto const by_node = create(
        std::string("--config 'entrypoint=[det-launch, mpi, digits, digits.csv.gz]'") + short_training);
    finish(by_rank);
    finish(by_node);
    BOOST_TEST(difference(newest_checkpoint(by_rank), newest_checkpoint(by_node)) == "");
}

BOOST_FIXTURE_TEST_CASE(what_ranks_print_is_told_apart_by_their_labels, WithPlugin) {
    auto const id = create(
        "--config slurm.launch=rank --config 'entrypoint=echo I am $RANK of $WORLD_SIZE on $(hostname)'");
    finish(id);
    BOOST_TEST(
        shell(fmt::format("det-submit trial logs {} | sed 's/^[^ ]* //' | grep ' I am ' | sort", id)) ==
        "[rank=0] I am 0 of 8 on n0\n[rank=1] I am 1 of 8 on n0\n[rank=2] I am 2 of 8 on n0\n"
        "[rank=3] I am 3 of 8 on n0\n[rank=4] I am 4 of 8 on n1\n[rank=5] I am 5 of 8 on n1\n"
        "[rank=6] I am 6 of 8 on n1\n[rank=7] I am 7 of 8 on n1");
    auto const line =
        nlohmann::json::parse(shell(fmt::format("det-submit trial logs {} --rank 3 --json", id)));
    BOOST_TEST(line["rank"] == 3);
    BOOST_TEST(line["node"] == 0);
    BOOST_TEST(line["message"] == "I am 3 of 8 on n0");
}

BOOST_FIXTURE_TEST_CASE(each_line_is_logged_once_whoever_labelled_it, WithPlugin) {
    auto const one_node = std::string("--config resources.slots_per_trial=1 --config 'entrypoint=");
    auto const wrapped = create(one_node + "echo mine; det-wrap-rank 1 echo wrapped; echo mine too'");
    auto const by_hand = create(one_node + "echo \"[rank=7] by hand\"'");
    finish(wrapped);
    finish(by_hand);
    auto const texts = [&](int id) {
        return shell(fmt::format("det-submit trial logs {} | sed 's/^[^ ]* //' | sort", id));
    };
    BOOST_TEST(texts(wrapped) == "[rank=1] wrapped\nmine\nmine too");
    BOOST_TEST(texts(by_hand) == "[rank=7] by hand");
}

BOOST_FIXTURE_TEST_CASE(a_step_that_the_entrypoint_starts_keeps_its_directory_and_gets_no_label, WithPlugin) {
    auto const id = create(
        "--config resources.slots_per_trial=1 --config slurm.launch=rank --config "
        "'entrypoint=mkdir sub; cd sub; here=$PWD; there=$(srun --overlap --nodes=1 --ntasks=1 pwd); "
        "echo kept: $([ $here = $there ] || echo $here and $there)'");
    finish(id);
    auto const text = shell(fmt::format("det-submit trial logs {}", id));
    BOOST_TEST(text.find("[rank=0] kept:") != std::string::npos, text);
    BOOST_TEST(text.find(" and ") == std::string::npos, text);
}

/// Submits a batch script as the entrypoint of two nodes. Its step writes a line for each task.
void check_that_a_batch_script_does_not_train_twice(DigitsCluster const& cluster) {
    must(write_file(
        cluster.home() / "code/train.sbatch",
        "#!/bin/bash\n#SBATCH --nodes=2\nset -e\n"
        "srun --overlap --ntasks-per-node=1 --ntasks=2 sh -c 'echo trained >>$DET_TRIAL_DIR/trained; "
        "exec sleep 60'\n",
        0755));
    auto const id = cluster.create("--config max_restarts=0 --config entrypoint=./train.sbatch");
    auto const waited = cluster.login("researcher", {"det-submit", "experiment", "wait", std::to_string(id)},
                                      std::chrono::seconds(90));
    BOOST_TEST(waited.exit_code == 1, waited.err);
    auto const text = cluster.shell(fmt::format("det-submit trial logs {}", id));
    BOOST_TEST(text.find("a step over all 2 nodes of this run is refused on node n1") != std::string::npos,
               text);
    BOOST_TEST(text.find("refused on node n0") == std::string::npos, text);
    auto const trained = cluster.shell(
        fmt::format("cat $(find {} -name trained) /dev/null | wc -l", cluster.directory(id).string()));
    BOOST_TEST((trained == "0" || trained == "1" || trained == "2"), trained);
}

BOOST_FIXTURE_TEST_CASE(a_batch_script_as_entrypoint_of_two_nodes_does_not_train_twice, WithPlugin) {
    check_that_a_batch_script_does_not_train_twice(*this);
}

BOOST_AUTO_TEST_CASE(a_batch_script_as_entrypoint_of_two_nodes_does_not_train_twice_without_the_plugin) {
    DigitsCluster const cluster(four_nodes(LoopbackOptions::Plugin::off));
    check_that_a_batch_script_does_not_train_twice(cluster);
}

BOOST_FIXTURE_TEST_CASE(of_ranks_that_fail_the_first_is_told_with_its_last_words, WithPlugin) {
    auto const id = create(
        "--config slurm.launch=rank --config max_restarts=0 --config "
        "'entrypoint=if [ $RANK != 5 ]; then echo waiting; touch $DET_RUN_PATH/here.$RANK; exec sleep 60; "
        "fi; "
        "until [ $(ls $DET_RUN_PATH | grep -c here) = 7 ]; do sleep 0.1; done; echo no luck >&2; exit 3'");
    auto const waited = login("researcher", {"det-submit", "experiment", "wait", std::to_string(id)});
    BOOST_TEST(waited.exit_code == 1, waited.err);
    auto const failure = ask(fmt::format("trial describe {}", id))["runs"][0]["first_failure"];
    BOOST_TEST(failure["rank"] == 5);
    BOOST_TEST(failure["host"] == "n1");
    BOOST_TEST(failure["exit_code"] == 3);
    BOOST_TEST(failure["last_words"] == "no luck\n");
    BOOST_TEST(shell(fmt::format("det-submit trial describe {}", id)).find("rank 5 on n1 failed first") !=
               std::string::npos);
    // The output of a killed rank is complete.
    BOOST_TEST(shell(fmt::format("det-submit trial logs {} --grep waiting | wc -l", id)) == "7");
}

BOOST_FIXTURE_TEST_CASE(a_trainer_that_fails_is_started_again_as_often_as_it_may, WithPlugin) {
    auto const id = create(
        "--config slurm.launch=rank --config resources.slots_per_trial=1 "
        "--config max_restarts=2 --config 'entrypoint=echo attempt; exit 9'");
    auto const waited = login("researcher", {"det-submit", "experiment", "wait", std::to_string(id)});
    BOOST_TEST(waited.exit_code == 1, waited.err);
    auto const trial = ask(fmt::format("experiment describe {}", id))["trials"][0];
    BOOST_TEST(trial["state"] == "ERROR");
    BOOST_REQUIRE(trial["runs"].size() == 3u);
    for (auto const& run : trial["runs"]) BOOST_TEST(run["exit_code"] == 9);
}

BOOST_FIXTURE_TEST_CASE(the_queue_shows_an_experiment_until_it_ends, WithPlugin) {
    auto const id =
        create("--config slurm.launch=rank --config 'entrypoint=while [ ! -e go ]; do sleep 0.1; done'");
    auto const job = [&] { return ask("job list"); };
    wait_until([&] { return job().at(0)["state"] == "STATE_SCHEDULED"; }, std::chrono::seconds(30),
               "it runs");
    auto const row = job().at(0);
    BOOST_TEST(row["name"] == fmt::format("exp-{}", id));
    BOOST_TEST(row["type"] == "TYPE_EXPERIMENT");
    BOOST_TEST(row["slots_acquired"] == 8);
    wait_until([&] { return ask("experiment list")[0]["state"] == "RUNNING"; }, std::chrono::seconds(30),
               "RUNNING");
    shell(fmt::format("scancel {}", row["id"].get<std::string>()));
    auto const waited = login("researcher", {"det-submit", "experiment", "wait", std::to_string(id)});
    BOOST_TEST(waited.exit_code == 1, waited.out << waited.err);
    BOOST_TEST(ask("experiment list")[0]["state"] == "CANCELED");
    wait_until([&] { return job().empty(); }, std::chrono::seconds(30), "the job has gone");
}

BOOST_AUTO_TEST_SUITE_END()
