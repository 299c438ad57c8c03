#include <det/foundation/sha256.hpp>
#include <det/protocol/json.hpp>

#include <boost/test/unit_test.hpp>

#include "core_support.hpp"
#include "file_size_limit.hpp"
#include "stalled_writes.hpp"

using namespace det;
using namespace det::core;

namespace checkpoint_test {

Status write_weights(std::filesystem::path const& directory) {
    return write_file(directory / "weights", "bytes");
}

struct Fixture : RunFixture {
    Context context = init();
    std::filesystem::path storage = directory / "checkpoints";

    Result<std::string> store(Checkpoint::Write const& write = write_weights) {
        return context.checkpoint().store(100, Json::object(), write);
    }
    /// Checks that the storage has no committed checkpoint and that none was reported.
    void check_none() {
        for (auto const& uuid : must(list_directory(storage)))
            BOOST_TEST(
                (must_fail(context.checkpoint().load_manifest(uuid)).code == codes::no_such_checkpoint));
        BOOST_TEST(records().empty());
    }
};

}  // namespace checkpoint_test

BOOST_FIXTURE_TEST_SUITE(checkpoint_test, Fixture)

BOOST_AUTO_TEST_CASE(a_stored_checkpoint_has_its_files_and_a_complete_manifest) {
    auto const uuid =
        must(context.checkpoint().store(100, Json{{"epoch", 3}, {"steps_completed", 1}}, write_weights));
    auto const manifest = must(context.checkpoint().load_manifest(uuid));
    BOOST_TEST(manifest.run == "7.3.2");
    BOOST_TEST(manifest.steps_completed == 100u);
    BOOST_TEST(manifest.world_size == 1);
    BOOST_TEST((manifest.time == clock.now()));
    BOOST_TEST(manifest.metadata == (Json{{"epoch", 3}, {"steps_completed", 100}}));
    BOOST_TEST(must(context.checkpoint().restore_path(uuid)) == storage / uuid);
    BOOST_TEST(must(read_file(storage / uuid / "weights")) == "bytes");
}

BOOST_AUTO_TEST_CASE(the_chief_reports_the_checkpoints_that_it_stored) {
    auto const first = must(store());
    auto const second = must(store());
    BOOST_TEST(first != second);
    BOOST_REQUIRE(records().size() == 2u);
    auto const record = std::get<CheckpointCommitted>(records()[0]);
    BOOST_TEST(record.uuid == first);
    BOOST_TEST(record.steps_completed == 100u);
    BOOST_TEST(record.resources->at("weights") == 5);
    BOOST_TEST(record.metadata == (Json{{"steps_completed", 100}}));
}

BOOST_AUTO_TEST_CASE(a_writer_that_fails_leaves_no_checkpoint) {
    auto const error = must_fail(store([](auto const& path) -> Status {
        DET_TRY(write_weights(path));
        return Error{codes::file_system, "no space left on device"};
    }));
    BOOST_TEST(error.message == "no space left on device");
    check_none();
}

BOOST_AUTO_TEST_CASE(a_checkpoint_that_the_journal_can_not_record_is_kept) {
    auto& checkpoint = context.checkpoint();
    auto const draft = must(checkpoint.begin(100, Json{{"note", std::string(1000, 'x')}}));
    must(write_weights(draft.directory));
    must(context.train().report_metrics("training", 1, Json{{"note", std::string(100'000, 'x')}}));
    must(context.train().flush());
    {
        FileSizeLimit const limit(50'000);  // the files of the checkpoint are smaller, the journal is larger
        must_fail(checkpoint.commit(draft));
    }
    must(checkpoint.discard(draft));
    BOOST_TEST(must(checkpoint.restore_path(draft.uuid)) == storage / draft.uuid);
}

BOOST_AUTO_TEST_CASE(a_draft_that_is_discarded_leaves_no_files) {
    auto const draft = must(context.checkpoint().begin(100, Json::object()));
    must(write_weights(draft.directory));
    must(context.checkpoint().discard(draft));
    BOOST_TEST(!path_exists(storage / draft.uuid));
}

BOOST_AUTO_TEST_CASE(no_checkpoint_is_committed_after_a_newer_run_has_begun) {
    // A run with a higher number begins while the present run, which was cut off, still writes.
    auto const error = must_fail(store([this](auto const& path) -> Status {
        must(make_directory(trial.run(3).path()));
        return write_weights(path);
    }));
    BOOST_TEST((error.code == codes::superseded));
    BOOST_TEST(error.message == "run 3 of this trial has begun elsewhere");
    check_none();
    BOOST_TEST((must_fail(store()).code == codes::superseded));  // a superseded run never commits again
}

BOOST_AUTO_TEST_CASE(lower_runs_and_other_names_do_not_supersede_a_run) {
    for (auto const* name : {"0", "1", "notes", "10.old", "-3"}) must(make_directories(trial.runs() / name));
    BOOST_TEST(store().has_value());
    must(make_directories(trial.run(10).path()));  // 10 is above 2 as a number, not as text
    BOOST_TEST((must_fail(store()).code == codes::superseded));
}

BOOST_AUTO_TEST_CASE(metadata_is_a_map_of_anything) {
    for (auto const& metadata : {Json(), Json(1), Json::array()}) {
        auto const error = must_fail(context.checkpoint().store(1, metadata, write_weights));
        BOOST_TEST((error.code == codes::misuse));
    }
    BOOST_TEST(!path_exists(storage));
    auto const uuid = must(context.checkpoint().store(1, Json{{"note", "\xff"}}, write_weights));
    BOOST_TEST(must(context.checkpoint().load_manifest(uuid)).metadata->at("note") == "\xef\xbf\xbd");
    BOOST_TEST(parse_json(must(read_file(storage / uuid / "metadata.json")))["note"] == "\xef\xbf\xbd");
}

BOOST_AUTO_TEST_CASE(a_negative_number_of_batches_is_refused) {
    auto& checkpoint = context.checkpoint();
    auto const negative = static_cast<std::uint64_t>(-3);
    float weight = 1;
    checkpoint::State const state{tensor::NamedTensor::whole("w", tensor::DataType::float32, {1}, &weight)};
    auto const refuses = [](auto const& result) {
        auto const error = must_fail(result);
        return error.code == codes::misuse && error.message.find("(-3 as a signed") != std::string::npos;
    };
    BOOST_TEST(refuses(checkpoint.begin(negative, Json::object())));
    BOOST_TEST(refuses(checkpoint.store(negative, Json::object(), write_weights)));
    BOOST_TEST(refuses(checkpoint.store_before_preemption(negative, Json::object(), write_weights)));
    BOOST_TEST(refuses(checkpoint.store_sharded(negative, Json::object(), write_weights)));
    BOOST_TEST(refuses(checkpoint.begin_sharded(negative, Json::object())));
    BOOST_TEST(refuses(checkpoint.upload(negative, {})));
    BOOST_TEST(refuses(checkpoint.save(negative, Json::object(), state)));
    BOOST_TEST(refuses(checkpoint.save_before_preemption(negative, Json::object(), state)));
    BOOST_TEST(!path_exists(storage));
    BOOST_TEST(records().empty());
}

BOOST_AUTO_TEST_CASE(a_file_whose_name_its_manifest_can_not_hold_is_refused) {
    // JSON can't hold this name: the manifest would have another one, and the checkpoint would look damaged.
    auto const error =
        must_fail(store([](auto const& path) { return write_file(path / "shard-\xff", "x"); }));
    BOOST_TEST((error.code == codes::bad_value));
    check_none();
}

BOOST_AUTO_TEST_CASE(a_damaged_or_absent_checkpoint_is_an_error) {
    auto const uuid = must(store());
    must(write_file(storage / uuid / "weights", "bites"));
    BOOST_TEST(!path_exists(run.damaged_checkpoint(uuid)));
    BOOST_TEST((must_fail(context.checkpoint().restore_path(uuid)).code == codes::checkpoint_damaged));
    // The supervisor reads why.
    BOOST_TEST(must(read_file(run.damaged_checkpoint(uuid))) ==
               "checkpoint " + uuid + " is damaged: the checksum of 'weights' does not match\n");
    for (auto const* absent : {"00000000-0000-4000-8000-000000000009", "", "../checkpoints"})
        BOOST_TEST((must_fail(context.checkpoint().restore_path(absent)).code == codes::no_such_checkpoint));
}

BOOST_AUTO_TEST_CASE(the_journal_has_the_sha256_of_the_manifest_that_is_stored) {
    auto const uuid = must(store());
    Sha256 sum;
    sum.update(must(read_file(storage / uuid / manifest_name)));
    auto const expected = sum.finish();
    auto const all = records();
    auto const* committed = std::get_if<CheckpointCommitted>(&all.back());
    BOOST_REQUIRE(committed != nullptr);
    BOOST_TEST(committed->manifest_sha256 == expected);
}

BOOST_AUTO_TEST_CASE(a_first_run_has_no_latest_checkpoint) {
    // The fixture's run continues from a checkpoint: latest() returns what ClusterInfo has.
    BOOST_TEST((context.checkpoint().latest() == "00000000-0000-4000-8000-000000000001"));
    must(context.close());
    must(write_file(info / info_files::cluster, render_cluster_info({})));
    must(remove_tree(run.chief_journal()));
    auto first = init();
    BOOST_TEST(!first.checkpoint().latest().has_value());
    // latest() does not change when the run itself stores a checkpoint: it is the one to continue from.
    must(first.checkpoint().store(100, Json::object(), write_weights));
    BOOST_TEST(!first.checkpoint().latest().has_value());
    // "Absent" is an explicit null in the file, not an empty UUID.
    auto const written = parse_json(must(read_file(info / info_files::cluster)));
    BOOST_TEST(written.at("latest_checkpoint").is_null());
    must(first.close());
}

BOOST_AUTO_TEST_CASE(a_last_checkpoint_is_not_begun_if_too_little_time_is_left) {
    ExperimentSpec spec;
    spec.id = {7};
    spec.checkpoint_path = storage;
    spec.preemption_timeout_s = 60;
    must(write_file(info / info_files::spec, render_spec(spec)));
    must(remove_tree(run.chief_journal()));
    for (auto const took : {std::chrono::seconds(30), std::chrono::seconds(50)}) {
        auto training = init();
        std::vector<float> weights(100, 1);
        checkpoint::State const state{
            tensor::NamedTensor::whole("w", tensor::DataType::float32, {weights.size()}, weights.data())};
        must(training.checkpoint().save(1, Json::object(), state));
        clock.sleep_for(took);
        BOOST_REQUIRE(must(training.checkpoint().finish()).size() == 1u);
        raise_notice();
        auto const ended = must(training.checkpoint().save_before_preemption(2, Json::object(), state));
        bool const there_is_time = took == std::chrono::seconds(30);
        BOOST_TEST(ended.size() == (there_is_time ? 1u : 0u));
        must(training.close());
        must(preemption::NoticePage::create(run_dir / preemption::notice_file));
        must(remove_tree(run.chief_journal()));
    }
}

BOOST_AUTO_TEST_CASE(the_last_save_also_reports_the_saves_that_it_waits_for) {
    must(remove_tree(run.chief_journal()));
    auto training = init();
    std::vector<float> weights(100, 1);
    checkpoint::State const state{
        tensor::NamedTensor::whole("w", tensor::DataType::float32, {weights.size()}, weights.data())};
    std::size_t reported = 0;
    constexpr std::size_t saves = 4;
    for (std::size_t step = 1; step < saves; ++step)
        reported += must(training.checkpoint().save(step, Json::object(), state)).ended.size();
    reported += must(training.checkpoint().save_before_preemption(saves, Json::object(), state)).size();
    BOOST_TEST(reported == saves);
    must(training.close());
}

BOOST_AUTO_TEST_CASE(a_step_of_the_wall_clock_does_not_prevent_the_last_checkpoint) {
    auto const end_s = clock.now().microseconds / 1'000'000 + 3600;
    environment.set("SLURM_JOB_END_TIME", std::to_string(end_s));
    for (bool const is_wrong_from_the_start : {false, true}) {
        must(remove_tree(run.chief_journal()));
        if (is_wrong_from_the_start) clock.set_by(std::chrono::hours(400));
        auto training = init();
        std::vector<float> weights(100, 1);
        checkpoint::State const state{
            tensor::NamedTensor::whole("w", tensor::DataType::float32, {weights.size()}, weights.data())};
        must(training.checkpoint().save(1, Json::object(), state));
        clock.sleep_for(std::chrono::seconds(1));
        must(training.checkpoint().finish());
        raise_notice();
        clock.set_by(std::chrono::hours(400));
        BOOST_TEST(must(training.checkpoint().save_before_preemption(2, Json::object(), state)).size() == 1u);
        must(training.close());
    }
}

BOOST_AUTO_TEST_CASE(slurms_notice_leaves_the_time_that_the_partition_grants) {
    using By = preemption::NoticePage::By;
    struct Case {
        By by;
        std::uint32_t notice_s;
        std::size_t saved;
    };
    // A save that takes 50 s needs 75 s; of a grace period of 80 s the supervisor leaves 72 s.
    for (auto const& [by, notice_s, saved] :
         {Case{By::supervisor, 80, 1}, Case{By::slurm, 80, 0}, Case{By::slurm, 84, 1}}) {
        ExperimentSpec spec;
        spec.id = {7};
        spec.checkpoint_path = storage;
        spec.notice_s = notice_s;
        must(write_file(info / info_files::spec, render_spec(spec)));
        must(remove_tree(run.chief_journal()));
        must(preemption::NoticePage::create(run_dir / preemption::notice_file));
        auto training = init();
        std::vector<float> weights(100, 1);
        checkpoint::State const state{
            tensor::NamedTensor::whole("w", tensor::DataType::float32, {weights.size()}, weights.data())};
        must(training.checkpoint().save(1, Json::object(), state));
        clock.sleep_for(std::chrono::seconds(50));
        BOOST_REQUIRE(must(training.checkpoint().finish()).size() == 1u);
        raise_notice(by);
        auto const ended = must(training.checkpoint().save_before_preemption(2, Json::object(), state));
        BOOST_TEST(ended.size() == saved);
        must(training.close());
    }
}

BOOST_AUTO_TEST_CASE(a_checkpoint_is_announced_before_it_exists) {
    must(remove_tree(run.chief_journal()));
    auto training = init();
    std::string uuid;
    must(training.checkpoint().store(5, Json::object(), [&](auto const& path) {
        uuid = path.filename();
        auto const all = must(journal::load_journal(run.chief_journal())).records;
        BOOST_REQUIRE(all.size() == 1u);
        BOOST_TEST(std::get<CheckpointBegun>(all[0]).uuid == uuid);
        BOOST_TEST(std::get<CheckpointBegun>(all[0]).steps_completed == 5u);
        return Ok{};
    }));
    BOOST_TEST(!uuid.empty());
}

BOOST_AUTO_TEST_CASE(a_save_waits_for_no_write_of_the_journal_but_its_commit_does) {
    auto& checkpoints = context.checkpoint();
    std::vector<float> weights(100, 1);
    checkpoint::State const state{
        tensor::NamedTensor::whole("w", tensor::DataType::float32, {weights.size()}, weights.data())};
    std::string uuid;
    {
        StalledWrites const stalled(run.chief_journal());
        uuid = must(checkpoints.save(5, Json::object(), state)).uuid;
        stalled.wait_for_one();
        auto const give_up_at = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        while (!path_exists(storage / uuid / "rank-00000.safetensors") &&
               std::chrono::steady_clock::now() < give_up_at)
            BOOST_TEST(must(checkpoints.poll()).empty());
        for (int step = 0; step < 1000; ++step) BOOST_TEST(must(checkpoints.poll()).empty());
        BOOST_TEST((must_fail(checkpoints.load_manifest(uuid)).code == codes::no_such_checkpoint));
        BOOST_TEST(stalled.is_waiting());
    }
    auto const ended = must(checkpoints.finish());
    BOOST_REQUIRE(ended.size() == 1u);
    BOOST_TEST(!ended[0].error);
    auto const all = must(journal::load_journal(run.chief_journal())).records;
    BOOST_REQUIRE(all.size() == 2u);
    BOOST_TEST(std::get<CheckpointBegun>(all[0]).uuid == uuid);
    BOOST_TEST(std::get<CheckpointCommitted>(all[1]).uuid == uuid);
}

BOOST_AUTO_TEST_CASE(the_last_directory_is_stored_if_there_is_time) {
    ExperimentSpec spec;
    spec.id = {7};
    spec.checkpoint_path = storage;
    spec.preemption_timeout_s = 60;
    must(write_file(info / info_files::spec, render_spec(spec)));
    for (auto const took : {std::chrono::seconds(30), std::chrono::seconds(50)}) {
        must(remove_tree(run.chief_journal()));
        must(preemption::NoticePage::create(run_dir / preemption::notice_file));
        auto training = init();
        must(training.checkpoint().store(1, Json::object(), [&](auto const& path) {
            clock.sleep_for(took);
            return write_weights(path);
        }));
        raise_notice();
        bool const is_stored =
            must(training.checkpoint().store_before_preemption(2, Json::object(), write_weights));
        BOOST_TEST(is_stored == (took == std::chrono::seconds(30)));
        BOOST_TEST(records().size() == (is_stored ? 2u : 1u));
        must(training.close());
    }
}

BOOST_AUTO_TEST_CASE(a_sharded_directory_is_filled_in_place) {
    auto const uuid = must(context.checkpoint().store_sharded(7, Json{{"a", 1}}, write_weights));
    BOOST_TEST(must(read_file(storage / uuid / "weights")) == "bytes");
    BOOST_TEST(must(context.checkpoint().load_manifest(uuid)).metadata->at("steps_completed") == 7);
    auto const error = must_fail(context.checkpoint().store_sharded(8, Json::object(), [](auto const&) {
        return Status(Error{codes::file_system, "full"});
    }));
    BOOST_TEST(error.message == "full");
    BOOST_TEST(must(list_directory(storage)).size() == 1u);
}

BOOST_AUTO_TEST_CASE(outside_of_an_experiment_the_newest_save_is_loaded) {
    ContextOptions options;
    options.environment = {};
    options.checkpoint_path = storage;
    options.clock = &clock;
    float weight = 0;
    checkpoint::State const state{tensor::NamedTensor::whole("w", tensor::DataType::float32, {1}, &weight)};
    auto const run_program = [&](auto const& body) {
        auto program = must(Context::init(options));
        body(program.checkpoint());
        must(program.close());
    };
    run_program([&](Checkpoint& checkpoint) { BOOST_TEST(!must(checkpoint.load(state)).has_value()); });
    std::string newest;
    run_program([&](Checkpoint& checkpoint) {
        // The newest save need not have the most steps: a program may begin anew.
        for (std::uint64_t const steps : {7, 3}) {
            weight = static_cast<float>(steps);
            clock.sleep_for(std::chrono::seconds(1));
            newest = must(checkpoint.save(steps, Json::object(), state)).uuid;
        }
    });
    clock.sleep_for(std::chrono::seconds(1));
    must(store());  // of a trial, which has the same storage
    auto const load = [&](checkpoint::OnDamage on_damage) {
        std::optional<checkpoint::Loaded> loaded;
        run_program([&](Checkpoint& checkpoint) { loaded = must(checkpoint.load(state, on_damage)); });
        BOOST_REQUIRE(loaded.has_value());
        return *loaded;
    };
    BOOST_TEST(load(checkpoint::OnDamage::fail).manifest.uuid == newest);
    BOOST_TEST(weight == 3);
    for (auto const& name : must(list_directory(storage / newest))) {
        if (name.ends_with(".safetensors")) must(write_file(storage / newest / name, "damaged"));
    }
    BOOST_TEST(load(checkpoint::OnDamage::take_older).manifest.steps_completed == 7u);
    BOOST_TEST(weight == 7);
}

BOOST_AUTO_TEST_SUITE_END()
