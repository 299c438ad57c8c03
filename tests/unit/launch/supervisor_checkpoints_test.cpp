// A run continues from the newest checkpoint that is whole and that the trial has written.
#include <det/checkpoint/storage/open_store.hpp>
#include <det/foundation/uuid.hpp>

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

#include "resume_point.hpp"
#include "supervisor_fixture.hpp"

using namespace det;
using namespace det::launch::supervisor;

namespace supervisor_checkpoints_test {

namespace fs = std::filesystem;

/// A trial with a run that has committed checkpoints of steps 100, 200 and 300.
struct Fixture : SupervisorFixture {
    BatchJob job = batch_job();
    std::vector<std::string> uuids;

    Fixture() {
        job.spec.max_restarts = 0;
        auto const store = open_store();
        auto const run = experiment.trial(0).run(0);
        must(make_directories(run.path()));
        auto life = must(journal::JournalWriter::create(run.supervisor_journal()));
        RunStarted started;
        started.hosts = "n[0-1]";
        must(life.append(started));
        must(life.append(RunEnded{{}, Cause::preempted, NextAction::requeue, 0, ""}));
        auto chief = must(journal::JournalWriter::create(run.chief_journal()));
        for (std::uint64_t const steps : {100u, 200u, 300u}) {
            auto const& uuid = uuids.emplace_back(make_uuid());
            must(write_file(must(store->create_directory(uuid)) / "weights", "bytes"));
            auto const manifest = must(
                store->commit({uuid, "7.0.0", steps, {}, 1, Json::object()}, [] { return Status(Ok{}); }));
            must(chief.append(CheckpointCommitted{
                UtcTime{1}, uuid, steps, resources_of(manifest), manifest.metadata, {}, manifest.sha256}));
        }
    }
    std::unique_ptr<checkpoint::Store> open_store() const {
        return must(checkpoint::storage::open_store(job.spec, Environment()));
    }
    fs::path file(std::size_t checkpoint, std::string const& name) const {
        return root / "checkpoints" / uuids.at(checkpoint) / name;
    }
    ResumePoint resume(std::uint32_t runs = 1) const {
        return must(find_resume_point(experiment.trial(0), {{7}, 0}, {0, runs}, *open_store()));
    }
    bool has_logged(std::string const& text) const {
        return std::ranges::any_of(log_lines,
                                   [&](auto const& line) { return line.find(text) != std::string::npos; });
    }
    /// A step whose rank finds the given checkpoint damaged, as restore_path() does; with others it succeeds.
    void step_finds_damage(std::size_t checkpoint) {
        step_is(
            fmt::format(R"(echo "$DET_LATEST_CHECKPOINT $DET_LATEST_CHECKPOINT_SHA256" >"$DET_RUN_PATH/seen"
            [ "$DET_LATEST_CHECKPOINT" != {0} ] || {{ echo "checkpoint {0} is damaged: 'weights' differs" \
            >"$DET_RUN_PATH/damaged-{0}"; touch "$DET_RUN_PATH/node-0.log"; exit 1; }})",
                        uuids.at(checkpoint)));
    }
};

}  // namespace supervisor_checkpoints_test

BOOST_FIXTURE_TEST_SUITE(supervisor_checkpoints_test, Fixture)

BOOST_AUTO_TEST_CASE(a_whole_checkpoint_of_the_trial_is_used_with_the_sum_of_its_manifest) {
    auto const point = resume();
    BOOST_TEST(point.checkpoint == uuids[2]);
    BOOST_TEST(point.manifest_sha256 == must(open_store()->load_manifest(uuids[2])).sha256);
    BOOST_TEST(point.passed_over.empty());
    BOOST_TEST(!point.refusal.has_value());
    BOOST_TEST(point.last_hosts == "n[0-1]");
    BOOST_TEST(resume(0).last_hosts == "");
}

BOOST_AUTO_TEST_CASE(each_kind_of_damage_that_shows_without_reading_leads_to_the_older_checkpoint) {
    struct Damage {
        char const* said;
        std::function<void()> make;
    };
    auto const weights = file(2, "weights"), manifest = file(2, "manifest");
    auto const good = must(read_file(manifest));
    auto const other = must(read_file(file(1, "manifest")));
    std::vector<Damage> const kinds{
        {"'weights' has 4 bytes in place of 5", [&] { must(write_file(weights, "byte")); }},
        {"'weights' is missing", [&] { fs::remove(weights); }},
        {"its manifest is missing", [&] { fs::remove(manifest); }},
        {"is damaged", [&] { must(write_file(manifest, good.substr(0, good.size() / 2))); }},
        {"its manifest is that of", [&] { must(write_file(manifest, other)); }},
        {"is not the checkpoint that this run wrote",
         [&] {
             auto changed = must(parse_manifest(good));
             changed.steps_completed = 301;
             must(write_file(manifest, render_manifest(changed)));
         }},
        {"is not yours", [&] { fs::permissions(weights, fs::perms(0666)); }},
    };
    for (auto const& kind : kinds) {
        kind.make();
        auto const point = resume();
        BOOST_TEST(point.checkpoint == uuids[1], kind.said);
        BOOST_TEST(point.steps_completed == 200u);
        BOOST_REQUIRE(point.passed_over.size() == 1u);
        BOOST_TEST(point.passed_over[0].message.find(uuids[2]) != std::string::npos);
        BOOST_TEST(point.passed_over[0].message.find(kind.said) != std::string::npos,
                   point.passed_over[0].message << " says " << kind.said);
        must(write_file(weights, "bytes"));
        must(write_file(manifest, good));
        BOOST_TEST(resume().checkpoint == uuids[2]);
    }
}

BOOST_AUTO_TEST_CASE(a_run_that_finds_its_checkpoint_damaged_is_followed_by_one_from_an_older_checkpoint) {
    must(write_file(file(2, "weights"), "Bytes"));
    step_finds_damage(2);
    BOOST_TEST(supervise(job) == 0);
    auto const end = end_of(1);
    BOOST_TEST((end.cause == Cause::checkpoint_damaged));
    BOOST_TEST((end.next_action == NextAction::restart_in_place));
    BOOST_TEST(end.message.find("'weights' differs") != std::string::npos, end.message);
    BOOST_TEST(must(read_file(run_path(2) + "/seen")).starts_with(uuids[1]));
    BOOST_TEST((end_of(2).cause == Cause::finished));
    auto const life = must(journal::load_journal(experiment.trial(0).run(2).supervisor_journal()));
    BOOST_TEST(last_of<RunStarted>(life.records)->restarts == 0u);
    BOOST_TEST(has_logged("not used: checkpoint " + uuids[2] + " is damaged: "));
    BOOST_TEST(has_logged("'weights'"));
}

BOOST_AUTO_TEST_CASE(damage_that_only_the_ranks_see_is_believed_once) {
    step_finds_damage(2);
    BOOST_TEST(supervise(job) == 1);
    BOOST_TEST((end_of(1).cause == Cause::checkpoint_damaged));
    BOOST_TEST(must(read_file(run_path(2) + "/seen")).starts_with(uuids[2]));
    BOOST_TEST((end_of(2).cause == Cause::failed));
    BOOST_TEST((end_of(2).next_action == NextAction::stop));
}

BOOST_AUTO_TEST_CASE(a_trial_whose_checkpoints_are_all_damaged_ends_and_does_not_begin_anew) {
    for (std::size_t each : {0, 1, 2}) must(write_file(file(each, "weights"), ""));
    step_is(R"(touch "$DET_RUN_PATH/begun")");
    BOOST_TEST(supervise(job) == 8);
    auto const end = end_of(1);
    BOOST_TEST((end.cause == Cause::checkpoint_damaged));
    BOOST_TEST((end.next_action == NextAction::stop));
    BOOST_TEST(end.message.find("trial 7.0 has 3 checkpoints, and none can be used") != std::string::npos);
    BOOST_TEST(end.message.find("experiment fork 7") != std::string::npos, end.message);
    BOOST_TEST(!path_exists(run_path(1) + "/begun"));
    BOOST_TEST(has_logged("not used: checkpoint " + uuids[0]));
    // After a checkpoint was brought back the trial can go on.
    must(write_file(file(1, "weights"), "bytes"));
    BOOST_TEST(resume(2).checkpoint == uuids[1]);
}

BOOST_AUTO_TEST_CASE(a_trial_whose_checkpoints_were_removed_begins_anew) {
    auto const store = open_store();
    for (auto const& uuid : uuids) must(store->remove(uuid));
    auto const point = resume();
    BOOST_TEST(point.checkpoint == "");
    BOOST_TEST(!point.refusal.has_value());
}

BOOST_AUTO_TEST_CASE(a_run_with_a_damaged_journal_does_not_take_what_others_have_put_into_the_storage) {
    auto const path = experiment.trial(0).run(0).chief_journal();
    auto bytes = must(read_file(path));
    bytes[bytes.size() - 5] ^= 1;  // in the last record
    must(write_file(path, bytes));
    auto const open = make_uuid();
    auto const store = open_store();
    must(write_file(must(store->create_directory(open)) / "weights", "bytes"));
    must(store->commit({open, "7.0.0", 900, {}, 1, Json::object()}, [] { return Status(Ok{}); }));
    fs::permissions(root / "checkpoints" / open, fs::perms(0777));
    // The record of the second checkpoint is whole: its manifest must match.
    auto changed = must(parse_manifest(must(read_file(file(1, "manifest")))));
    changed.steps_completed = 800;
    must(write_file(file(1, "manifest"), render_manifest(changed)));
    BOOST_TEST(resume().checkpoint == uuids[2]);
}

BOOST_AUTO_TEST_CASE(a_source_checkpoint_that_was_replaced_after_the_submission_is_not_used) {
    auto const source = uuids[0];
    job.spec.source_checkpoint = source;
    job.spec.source_checkpoint_sha256 = must(open_store()->load_manifest(source)).sha256;
    ResumePoint point;
    must(use_source_checkpoint(source, *open_store(), point));
    BOOST_TEST(point.manifest_sha256 == job.spec.source_checkpoint_sha256);
    auto changed = must(parse_manifest(must(read_file(file(0, "manifest")))));
    changed.steps_completed = 900;
    must(write_file(file(0, "manifest"), render_manifest(changed)));
    ResumePoint fresh;
    BOOST_TEST(
        (must_fail(use_source_checkpoint(source, *open_store(), fresh)).code == codes::checkpoint_replaced));
    BOOST_TEST(fresh.checkpoint == "");
}

BOOST_AUTO_TEST_SUITE_END()
