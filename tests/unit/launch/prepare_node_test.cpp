#include <det/foundation/files.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/sha256.hpp>
#include <det/foundation/text.hpp>
#include <det/launch/supervisor/prepare_node.hpp>
#include <det/launch/supervisor/unpack_archive.hpp>
#include <det/pack/pack.hpp>
#include <det/protocol/cluster_info.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/protocol/experiment_spec.hpp>
#include <det/protocol/json.hpp>
#include <det/search/search.hpp>

#include <boost/test/unit_test.hpp>

#include "check_result.hpp"
#include "golden.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::launch::supervisor;

namespace prepare_node_test {

struct Fixture {
    TemporaryDirectory directory;

    void shell(std::string const& script) {
        SystemProcessRunner runner;
        auto const output =
            must(runner.run({{"/bin/sh", "-ec", "cd '" + directory.path().string() + "'\n" + script},
                             Environment::of_this_process()}));
        BOOST_REQUIRE_MESSAGE(output.exit_code == 0, output.err);
    }
    /// Packs a.tar as a context archive and returns its hash.
    std::string pack() {
        shell("zstd -q -f a.tar -o a.tar.zst");
        Sha256 hash;
        hash.update(must(read_file(directory / "a.tar")));
        return hash.finish();
    }
    /// Packs a.tar into the root and returns the specification of an experiment with this code.
    ExperimentSpec make_spec() {
        auto const hash = pack();
        shell("mkdir -p root/contexts; cp a.tar.zst root/contexts/" + hash + ".tar.zst");
        ExperimentSpec spec;
        spec.id = {7};
        spec.root = directory / "root";
        spec.context = ContextSpec{hash, 1};
        spec.searcher = {"single", "loss", true, Json::object()};
        return spec;
    }
};

}  // namespace prepare_node_test

BOOST_FIXTURE_TEST_SUITE(prepare_node_test, Fixture)

BOOST_AUTO_TEST_CASE(an_archive_is_unpacked_unchanged) {
    shell(
        "mkdir -p tree/sub out; echo hi > tree/sub/file; chmod 755 tree/sub/file; ln -s file tree/sub/link\n"
        "head -c 3000000 /dev/urandom > tree/large; tar -cf a.tar -C tree .");
    auto const hash = pack();
    must(unpack_archive(directory / "a.tar.zst", hash, directory / "out"));
    shell("diff -r tree out; test -x out/sub/file; test -L out/sub/link");
}

BOOST_AUTO_TEST_CASE(archives_of_det_submit_are_unpacked_unchanged) {
    auto const deep = std::string(120, 'd') + "/" + std::string(200, '\xe4');
    shell("mkdir -p out contexts tree/" + deep + "; echo x > tree/" + deep + "/" + std::string(255, 'z') +
          "; ln -s " + deep +
          " tree/link; printf y > \"tree/$(printf 'two\\nlines\\377')\"; chmod 755 tree/two*");
    auto const listed = must(pack::list_context({directory / "tree", {}}));
    auto const packed = must(must(pack::pack_tree(listed, directory / "contexts")).store());
    must(unpack_archive(directory / ("contexts/" + packed.sha256 + ".tar.zst"), packed.sha256,
                        directory / "out"));
    shell("diff -r --no-dereference tree out; test -x out/two*");
}

BOOST_AUTO_TEST_CASE(a_truncated_or_changed_archive_is_refused) {
    shell("mkdir -p tree out; head -c 300000 /dev/urandom > tree/file; tar -cf a.tar -C tree .");
    auto const hash = pack();
    auto const bytes = must(read_file(directory / "a.tar.zst"));
    for (std::size_t const size : {std::size_t{0}, std::size_t{3}, bytes.size() / 2, bytes.size() - 1}) {
        must(write_file(directory / "cut.tar.zst", bytes.substr(0, size)));
        BOOST_TEST((must_fail(unpack_archive(directory / "cut.tar.zst", hash, directory / "out")).code ==
                    codes::damaged),
                   "size " << size);
    }
    auto const other =
        must_fail(unpack_archive(directory / "a.tar.zst", std::string(64, '0'), directory / "out"));
    BOOST_TEST((other.code == codes::damaged));
    BOOST_TEST(other.message.find("its content has SHA-256 " + hash + ", not 0000") != std::string::npos,
               other.message);
    BOOST_TEST((must_fail(unpack_archive(directory / "absent", hash, directory / "out")).code ==
                codes::no_such_file));
}

BOOST_AUTO_TEST_CASE(a_member_outside_of_the_directory_is_refused) {
    shell(
        "mkdir -p tree out; echo evil > tree/file\n"
        "tar -cf a.tar -P --transform 's,^tree/file,../escaped,' tree/file");
    auto const by_name = pack();
    BOOST_TEST((must_fail(unpack_archive(directory / "a.tar.zst", by_name, directory / "out")).code ==
                codes::damaged));
    shell(
        "ln -sfn .. tree/up; tar -cf a.tar -C tree up; echo evil > file\n"
        "tar -rf a.tar --transform 's,^file,up/escaped,' file");
    auto const by_link = pack();
    BOOST_TEST(!unpack_archive(directory / "a.tar.zst", by_link, directory / "out").has_value());
    BOOST_TEST(!path_exists(directory / "escaped"));
}

BOOST_AUTO_TEST_CASE(prepare_node_writes_the_trial_and_the_code) {
    shell(
        "mkdir -p tree root/experiments/7 run/info; echo 'print(1)' > tree/train.py\n"
        "tar -cf a.tar -C tree .");
    auto spec = make_spec();
    spec.hyperparameters = Json{{"lr", {{"type", "const"}, {"val", 0.1}}}};
    spec.experiment_seed = 42;
    spec.config = Json{{"debug", true}};
    spec.setup = {"echo \"it's $HOME\"", "two\nlines"};
    must(write_file(directory / "root/experiments/7/spec.json", render_spec(spec)));
    Environment const environment({{"DET_EXPERIMENT_PATH", directory / "root/experiments/7"},
                                   {"DET_TRIAL_ID", "7000000"},
                                   {"DET_TRIAL_RUN_ID", "2"},
                                   {"DET_STEPS_COMPLETED", "500"},
                                   {"DET_INTER_NODE_NETWORK_INTERFACE", "hsn0"}});
    must(launch::supervisor::prepare_node(directory / "run", environment));

    auto const trial = must(parse_trial_info(must(read_file(directory / "run/info/trial.json"))));
    BOOST_TEST((trial.trial == TrialId{{7}, 0}));
    BOOST_TEST(trial.steps_completed == 500u);
    BOOST_TEST((trial.hparams == Json{{"lr", 0.1}}));
    BOOST_TEST(must(read_file(directory / "run/info/spec.json")) == render_spec(spec));
    BOOST_TEST(trial.debug);
    BOOST_TEST(trial.inter_node_network_interface.value() == "hsn0");
    BOOST_TEST(must(read_file(directory / "run" / "workdir" / "train.py")) == "print(1)\n");
    using namespace std::string_literals;
    BOOST_TEST(must(read_file(directory / "run/setup/lines")) == "echo \"it's $HOME\"\0two\nlines\0"s);
}

BOOST_AUTO_TEST_CASE(a_node_does_not_read_the_specification_that_has_come_with_the_variables) {
    shell("mkdir -p tree root/experiments/7 run/info; tar -cf a.tar -C tree .");
    auto spec = make_spec();
    spec.config = Json{{"debug", true}};
    Environment const environment({{"DET_EXPERIMENT_PATH", directory / "root/experiments/7"},
                                   {"DET_TRIAL_ID", "7000000"},
                                   {"DET_SPEC", render_spec(spec)}});
    must(launch::supervisor::prepare_node(directory / "run", environment));
    BOOST_TEST(must(read_file(directory / "run/info/spec.json")) == render_spec(spec));
    BOOST_TEST(must(parse_trial_info(must(read_file(directory / "run/info/trial.json")))).debug);
}

BOOST_AUTO_TEST_CASE(directories_of_the_trial_are_links_in_the_working_directory) {
    shell(
        "mkdir -p tree/out tree/elsewhere root/experiments/7 trial/work trial/persist/out; "
        "echo code >tree/out/file; echo kept >trial/persist/out/file; ln -s elsewhere tree/link\n"
        "tar -cf a.tar -C tree .");
    auto spec = make_spec();
    Environment const environment({{"DET_EXPERIMENT_PATH", directory / "root/experiments/7"},
                                   {"DET_TRIAL_ID", "7000000"},
                                   {"DET_TRIAL_DIR", directory / "trial/files"}});
    auto const prepare = [&] {
        must(write_file(directory / "root/experiments/7/spec.json", render_spec(spec)));
        shell("rm -rf run; mkdir -p run/info");
        return launch::supervisor::prepare_node(directory / "run", environment);
    };
    spec.persist = {"out", "new/sub"};
    must(prepare());
    shell(
        "test $(cat run/workdir/out/file) = kept; test -L run/workdir/new/sub; test -d "
        "run/workdir/elsewhere");
    spec.persist = {"link/sub"};
    BOOST_TEST((must_fail(prepare()).code == codes::bad_value));
    spec.persist.clear();
    spec.working_directory = WorkingDirectory::shared;
    must(prepare());
    shell("test $(readlink run/workdir) = \"$PWD/trial/work\"");
    must(remove_tree(directory / "run"));
    shell("test -d trial/work; test -f trial/persist/out/file");
}

BOOST_AUTO_TEST_CASE(each_trial_of_a_search_has_its_own_hyperparameters) {
    shell("mkdir -p root/experiments/7");
    ExperimentSpec spec;
    spec.id = {7};
    spec.root = directory / "root";
    spec.searcher = {"random", "loss", true, Json{{"max_trials", 6}}};
    spec.hyperparameters = parse_json(R"({"lr": {"type": "double", "minval": 0, "maxval": 1}})");
    spec.experiment_seed = 42;
    spec.trial_count = 6;
    must(write_file(directory / "root/experiments/7/spec.json", render_spec(spec)));
    for (std::uint32_t const index : {0U, 5U}) {
        auto const run = directory / ("run" + std::to_string(index));
        must(make_directories(run / "info"));
        Environment const environment({{"DET_EXPERIMENT_PATH", directory / "root/experiments/7"},
                                       {"DET_TRIAL_ID", std::to_string(7'000'000 + index)}});
        must(launch::supervisor::prepare_node(run, environment));
        auto const trial = must(parse_trial_info(must(read_file(run / "info/trial.json"))));
        auto const draw = must(search::draw_trial(spec, index));
        BOOST_TEST((trial.hparams == draw.hyperparameters));
        BOOST_TEST(trial.trial_seed == draw.seed);
    }
}

BOOST_AUTO_TEST_CASE(a_node_that_does_not_see_what_the_sampler_has_chosen_starts_nothing) {
    shell("mkdir -p root/experiments/7 run/info");
    ExperimentSpec spec;
    spec.id = {7};
    spec.root = directory / "root";
    spec.searcher = {"custom", "loss", true, Json{{"max_trials", 6}, {"command", "x"}}};
    spec.hyperparameters = parse_json(R"({"lr": {"type": "double", "minval": 0, "maxval": 1}, "c": 5})");
    spec.trial_count = 6;
    must(write_file(directory / "root/experiments/7/spec.json", render_spec(spec)));
    Environment environment(
        {{"DET_EXPERIMENT_PATH", directory / "root/experiments/7"}, {"DET_TRIAL_ID", "7000002"}});
    auto const error = must_fail(launch::supervisor::prepare_node(directory / "run", environment));
    BOOST_TEST(error.message == "what the sampler has chosen for trial 2 can't be seen on this node");
    environment.set("DET_HPARAMS", R"({"c":5,"lr":0.5})");
    must(launch::supervisor::prepare_node(directory / "run", environment));
    auto const trial = must(parse_trial_info(must(read_file(directory / "run/info/trial.json"))));
    BOOST_TEST((trial.hparams == parse_json(R"({"c": 5, "lr": 0.5})")));
}

BOOST_AUTO_TEST_SUITE_END()
