// An experiment whose checkpoints are in a bucket: it trains, is interrupted and continues, and commands
// handle its checkpoints. Only its configuration names the bucket.
#include <det/checkpoint/storage/open_store.hpp>
#include <det/core/context.hpp>
#include <det/preemption/notice_page.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/task_identity.hpp>

#include <boost/test/unit_test.hpp>

#include "cli_support.hpp"
#include "example_experiments.hpp"
#include "resume_point.hpp"
#include "s3_server.hpp"
#include "test_paths.hpp"

using namespace det;
using namespace det::cli;
using namespace det::experiment;

namespace s3_experiment_test {

constexpr char secret[] = "S3RVER";

struct Fixture : CliFixture {
    static S3Server& server() {
        static S3Server one;
        return one;
    }
    ExperimentLayout experiment = create_example(root, 1);
    ExperimentSpec spec = must(parse_spec(must(read_file(experiment.spec()))));
    std::vector<float> weights = std::vector<float>(1000);

    Fixture() {
        spec.root = root.path().string();
        (*spec.config)["checkpoint_storage"] = {{"type", "s3"},
                                                {"bucket", "det"},
                                                {"prefix", directory.path().filename().string()},
                                                {"endpoint_url", server().endpoint()},
                                                {"access_key", "********"},
                                                {"secret_key", "********"}};
        must(write_file(experiment.spec(), render_spec(spec)));
        must(write_file(
            experiment.secrets(),
            Json{{"checkpoint_storage", {{"access_key", secret}, {"secret_key", secret}}}}.dump()));
        environment.set("DET_MODULES", det::test::built_path("lib"));
        environment.set("TMPDIR", directory.path().string());
    }

    std::unique_ptr<checkpoint::Store> store() const {
        return must(checkpoint::storage::open_store(spec, environment));
    }
    checkpoint::State state() {
        return {tensor::NamedTensor::whole("w", tensor::DataType::float32, {weights.size()}, weights.data())};
    }

    /// Prepares a run as a node does, from the resume point that the supervisor has found.
    core::Context begin_run(std::uint32_t number) {
        must(start_run(experiment, number, static_cast<int>(number)).append(finish(20)));
        auto const resume =
            must(launch::supervisor::find_resume_point(experiment.trial(0), {{7}, 0}, {0, number}, *store()));
        auto const run_dir = directory / ("run-" + std::to_string(number));
        auto const info = run_dir / info_files::directory;
        must(make_directories(info));
        ClusterInfo cluster;
        cluster.allocation_id = "1.0." + std::to_string(number);
        cluster.latest_checkpoint = resume.checkpoint;
        if (!resume.manifest_sha256.empty()) cluster.latest_checkpoint_sha256 = resume.manifest_sha256;
        must(write_file(info / info_files::cluster, render_cluster_info(cluster)));
        must(write_file(info / info_files::rendezvous, must(render_rendezvous_info({"n0", "1", 0}))));
        TrialInfo trial;
        trial.trial = {{1}, 0};
        trial.trial_run_id = number;
        must(write_file(info / info_files::trial, render_trial_info(trial)));
        must(write_file(info / info_files::spec, render_spec(spec)));
        must(preemption::NoticePage::create(run_dir / preemption::notice_file));
        auto of_rank = environment;
        of_rank.set(variables::run_dir, run_dir.string());
        of_rank.set(variables::run_path, experiment.trial(0).run(number).path().string());
        return must(core::Context::init({of_rank, directory / "outside", &clock}));
    }

    std::string save(core::Context& context, std::uint64_t step) {
        std::ranges::fill(weights, static_cast<float>(step));
        auto const begun = must(context.checkpoint().save(step, Json::object(), state()));
        for (auto const& ended : must(context.checkpoint().finish())) BOOST_REQUIRE(!ended.error);
        must(context.train().report_validation_metrics(step, {{"loss", 0.1 * static_cast<double>(step)}}));
        return begun.uuid;
    }
};

}  // namespace s3_experiment_test

BOOST_FIXTURE_TEST_SUITE(s3_experiment_test, Fixture)

BOOST_AUTO_TEST_CASE(a_trial_continues_from_the_checkpoint_of_its_last_run_in_the_bucket) {
    std::string last;
    {
        auto first = begin_run(0);
        save(first, 1);
        last = save(first, 2);
        must(first.close());
    }
    {
        auto second = begin_run(1);
        BOOST_TEST(second.checkpoint().latest().value() == last);
        std::ranges::fill(weights, 0.0F);
        auto const loaded = must(second.checkpoint().load(state()));
        BOOST_REQUIRE(loaded.has_value());
        BOOST_TEST(loaded->manifest.steps_completed == 2u);
        BOOST_TEST(weights.back() == 2.0F);
        must(second.close());
    }
    // The staging directory, which had files of the bucket, was removed.
    for (auto const& name : must(list_directory(directory.path())))
        BOOST_TEST(!name.starts_with("det-s3-"), name);
}

BOOST_AUTO_TEST_CASE(a_manifest_that_someone_else_has_put_into_the_bucket_is_not_used) {
    std::string older, newest;
    {
        auto run = begin_run(0);
        older = save(run, 1);
        newest = save(run, 2);
        must(run.close());
    }
    auto const other = store();
    auto forged = must(other->load_manifest(newest));
    forged.steps_completed = 777;
    must(other->write_manifest(forged, render_manifest(forged), [] { return Status(Ok{}); }));
    BOOST_TEST(run("checkpoint verify " + newest) == 8);
    BOOST_TEST(contains(err, "is not the checkpoint that this run wrote"), err);
    BOOST_TEST(run("checkpoint download " + newest) == 8);

    auto const point =
        must(launch::supervisor::find_resume_point(experiment.trial(0), {{7}, 0}, {0, 1}, *store()));
    BOOST_TEST(point.checkpoint == older);
    BOOST_REQUIRE(point.passed_over.size() == 1u);
    BOOST_TEST((point.passed_over[0].code == codes::checkpoint_replaced));

    // A rank that loads the forged one by itself is refused, and the supervisor learns it.
    auto second = begin_run(1);
    BOOST_TEST((must_fail(second.checkpoint().restore_path(newest)).code == codes::checkpoint_replaced));
    BOOST_TEST(path_exists(experiment.trial(0).run(1).damaged_checkpoint(newest)));
    must(second.checkpoint().restore_path(older));
    BOOST_TEST(!path_exists(experiment.trial(0).run(1).damaged_checkpoint(older)));
    must(second.close());
}

BOOST_AUTO_TEST_CASE(files_removed_from_a_checkpoint_do_not_make_it_another_one) {
    std::string uuid;
    {
        auto run = begin_run(0);
        uuid = save(run, 1);
        save(run, 2);
        must(run.close());
    }
    BOOST_TEST(run("checkpoint rm " + uuid + " --glob '*.safetensors' --yes") == 0, err);
    BOOST_TEST(run("checkpoint verify " + uuid) == 0, err);
}

BOOST_AUTO_TEST_CASE(a_silent_server_does_not_restart_the_training_from_the_beginning) {
    auto run = begin_run(0);
    save(run, 1);
    must(run.close());
    (*spec.config)["checkpoint_storage"]["bucket"] = "no-such-bucket-but-an-error";
    (*spec.config)["checkpoint_storage"]["endpoint_url"] = "http://127.0.0.1:1";
    BOOST_TEST(
        (must_fail(launch::supervisor::find_resume_point(experiment.trial(0), {{7}, 0}, {0, 1}, *store()))
             .code == codes::transport));
}

BOOST_AUTO_TEST_CASE(the_commands_handle_checkpoints_in_a_bucket_like_those_in_a_directory) {
    std::vector<std::string> uuids;
    {
        auto run = begin_run(0);
        for (std::uint64_t step = 1; step <= 4; ++step) uuids.push_back(save(run, step));
        must(run.close());
    }
    BOOST_TEST(ask("experiment list-checkpoints 1").size() == 4u);
    auto const described = ask("checkpoint describe " + uuids[0]);
    BOOST_TEST(described["path"] == "s3://det/" + directory.path().filename().string() + "/" + uuids[0]);
    BOOST_TEST(!contains(out, secret), out);
    BOOST_TEST(run("checkpoint verify " + uuids[0] + " " + uuids[3]) == 0);
    auto const copy = directory / "copy";
    BOOST_TEST(run("checkpoint download " + uuids[1] + " -o " + copy.string()) == 0);
    BOOST_TEST(path_exists(copy / "rank-00000.safetensors"));
    BOOST_TEST(must(parse_manifest(must(read_file(copy / "manifest")))).uuid == uuids[1]);
    BOOST_TEST(ask("trial download 1.0 --best -o " + (directory / "best").string())["uuid"] == uuids[0]);
    BOOST_TEST(run("checkpoint rm --yes --glob *.safetensors " + uuids[1]) == 0);
    BOOST_TEST(ask("checkpoint describe " + uuids[1])["resources"].size() == 1u);
    BOOST_TEST(run("checkpoint delete --yes " + uuids[1]) == 0);
    BOOST_TEST(run("checkpoint describe " + uuids[1]) == to_int(ExitCode::absent));
    auto const collected = ask("experiment gc 1");
    BOOST_TEST(collected["removed"].size() == 1u);
    BOOST_TEST(collected["removed"][0]["uuid"] == uuids[2]);
    auto const bucket = store();  // opened before the secrets are removed
    BOOST_TEST(run("experiment delete 1 --yes") == 0);
    BOOST_TEST(must(bucket->list()).empty());
}

BOOST_AUTO_TEST_SUITE_END()
