#include <det/checkpoint/shared_fs_store.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/uuid.hpp>
#include <det/journal/reader.hpp>
#include <det/journal/writer.hpp>
#include <det/model_registry/model_changes.hpp>
#include <det/protocol/json.hpp>
#include <det/retention/collect_garbage.hpp>
#include <det/retention/list_checkpoints.hpp>

#include <boost/test/unit_test.hpp>

#include "check_result.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::retention;

namespace collect_garbage_test {

/// Writes the file `w` of a checkpoint that is not committed.
void write_part(checkpoint::SharedFsStore const& store, std::string const& uuid, std::string const& text) {
    must(make_directories(store.path_of(uuid)));
    must(write_file(store.path_of(uuid) / "w", text));
}

constexpr UtcTime noon{1'795'262'400'000'000};

/// Experiment 1, whose trial 0 has committed at steps 1 to 4 and validated best at step 2, trial 1 at step 1.
struct Fixture {
    TemporaryDirectory directory;
    RootLayout root{directory.path()};
    ExperimentLayout experiment{root, {1}};
    checkpoint::SharedFsStore store{directory / "checkpoints"};
    std::vector<std::string> uuids;

    Fixture() {
        create(1, "");
        for (std::uint32_t const trial : {0u, 1u}) {
            auto const run = experiment.trial(trial).run(0);
            must(make_directories(run.path()));
            auto journal = must(journal::JournalWriter::create(run.chief_journal()));
            for (std::uint64_t step = 1; step <= (trial == 0 ? 4U : 1U); ++step) {
                must(journal.append(
                    MetricsReported{noon, "validation", step,
                                    Json{{"loss", step == 2 ? 0.1 : 0.5 + static_cast<double>(step)}}}));
                must(journal.append(
                    CheckpointCommitted{noon, commit(), step, Json{{"w", 5}}, Json::object()}));
            }
        }
    }

    void create(std::uint32_t id, std::string const& source) const {
        ExperimentSpec spec;
        spec.id = {id};
        spec.searcher = {"single", "loss", true, Json::object()};
        spec.config =
            Json{{"searcher", {{"source_checkpoint_uuid", source.empty() ? Json() : Json(source)}}}};
        must(make_directories(ExperimentLayout(root, {id}).path()));
        must(write_file(ExperimentLayout(root, {id}).spec(), render_spec(spec)));
    }
    std::string commit() {
        uuids.push_back(make_uuid());
        write_part(store, uuids.back(), "bytes");
        must(store.commit({uuids.back(), "1.0.0", 1, noon, 1, Json::object()}, [] { return Status(Ok{}); }));
        return uuids.back();
    }
    GcReport collect(GcOptions options) {
        options.now = noon;
        return must(collect_garbage(root, experiment, store, options));
    }
    std::vector<bool> are_there() const {
        std::vector<bool> there;
        for (auto const& uuid : uuids) there.push_back(store.load_manifest(uuid).has_value());
        return there;
    }
    void check_there(std::vector<bool> const& expected) const {
        BOOST_TEST(are_there() == expected, boost::test_tools::per_element());
    }
};

}  // namespace collect_garbage_test

BOOST_FIXTURE_TEST_SUITE(collect_garbage_test, Fixture)

BOOST_AUTO_TEST_CASE(repeated_collections_keep_the_best_and_the_newest) {
    auto const report = collect({{0, 1, 1}});
    BOOST_TEST(report.removed.size() == 2u);
    BOOST_TEST(report.kept.size() == 3u);
    check_there({false, true, false, true, true});
    BOOST_TEST(collect({{0, 1, 1}}).removed.empty());
    check_there({false, true, false, true, true});
}

BOOST_AUTO_TEST_CASE(nothing_is_removed_if_the_store_does_not_tell_which_checkpoints_it_has) {
    std::filesystem::path const storage = directory / "checkpoints", moved = directory / "moved";
    std::filesystem::rename(storage, moved);
    std::filesystem::create_symlink(storage, storage);  // a loop: every path below it is an error
    GcOptions options{{0, 0, 1}};
    options.now = noon;
    must_fail(collect_garbage(root, experiment, store, options));
    std::filesystem::remove(storage);
    std::filesystem::rename(moved, storage);
    check_there({true, true, true, true, true});
}

BOOST_AUTO_TEST_CASE(committed_checkpoints_are_listed_with_their_presence) {
    must(store.remove(uuids[0]));
    must(store.remove_files(uuids[1], {"w"}, [](auto const&) { return Status(Ok{}); }));
    must(write_file(store.path_of(uuids[2]) / manifest_name, "not a manifest"));
    auto const spec = must(journal::load_spec(experiment));
    std::vector<std::string> listed;
    std::vector<Presence> found;
    for (auto const& checkpoint : must(list_committed(experiment, spec, &store))) {
        listed.push_back(checkpoint.committed.uuid);
        found.push_back(checkpoint.presence);
        BOOST_TEST(checkpoint.run == 0u);
        BOOST_TEST(checkpoint.metric.has_value());
    }
    BOOST_TEST(listed == uuids, boost::test_tools::per_element());
    using enum Presence;
    BOOST_TEST((found == std::vector{none, part, unknown, whole, whole}));
    for (auto const& checkpoint : must(list_committed(experiment, spec, nullptr)))
        BOOST_TEST((checkpoint.presence == unknown));
}

BOOST_AUTO_TEST_CASE(a_committed_but_unreported_checkpoint_is_listed) {
    auto const untold = make_uuid();
    auto const run = experiment.trial(1).run(1);
    must(make_directories(run.path()));
    must(must(journal::JournalWriter::create(run.chief_journal())).append(CheckpointBegun{noon, untold, 9}));
    write_part(store, untold, "bytes");
    must(store.commit({untold, "1.1.0", 9, noon, 1, Json::object()}, [] { return Status(Ok{}); }));
    auto const listed = must(list_committed(experiment, must(journal::load_spec(experiment)), &store));
    BOOST_REQUIRE(listed.size() == 6u);
    BOOST_TEST(listed.back().committed.uuid == untold);
    BOOST_TEST((listed.back().presence == Presence::whole));
}

BOOST_AUTO_TEST_CASE(a_registered_checkpoint_stays_and_without_the_registry_all_stay) {
    using namespace det::model_registry;
    auto const change = [&](Decide const& decide) { must(change_registry(root, noon, "ada@login", decide)); };
    change([](Registry const& now) { return create_model(now, {"mnist"}); });
    change([&](Registry const& now) { return register_version(now, "mnist", {uuids[0], "1.0.0", 1}); });
    auto const event = root.models() / "events" / "1-model.json";
    auto const text = must(read_file(event));
    must(write_file(event, "damaged"));
    GcOptions options{{0, 0, 0}};
    options.now = noon;
    BOOST_TEST((must_fail(collect_garbage(root, experiment, store, options)).code == codes::damaged));
    check_there({true, true, true, true, true});
    must(write_file(event, text));
    collect({{0, 0, 0}});
    check_there({true, false, false, false, false});
    change([](Registry const& now) { return delete_model(now, "mnist", 1); });
    collect({{0, 0, 0}});
    check_there({false, false, false, false, false});
}

BOOST_AUTO_TEST_CASE(a_dry_run_removes_nothing) {
    GcOptions options{{0, 0, 0}};
    options.mode = GcMode::dry_run;
    BOOST_TEST(collect(options).removed.size() == 5u);
    check_there({true, true, true, true, true});
}

BOOST_AUTO_TEST_CASE(a_warm_start_of_another_experiment_stays) {
    create(2, uuids[0]);
    collect({{0, 0, 0}});
    check_there({true, false, false, false, false});
}

BOOST_AUTO_TEST_CASE(an_unfinished_trial_keeps_its_newest_valid_checkpoint) {
    must(write_file(store.path_of(uuids[3]) / "w", "bites"));
    GcOptions options{{0, 0, 0}};
    options.is_over = [](std::uint32_t trial) { return trial == 1; };
    collect(options);
    check_there({false, false, true, false, false});
}

BOOST_AUTO_TEST_CASE(a_lock_prevents_concurrent_collections_and_expires_after_an_hour) {
    auto const guard = experiment.path() / "gc.lock";
    must(write_file(guard, format_utc(noon)));
    GcOptions options{{0, 0, 0}};
    options.now = noon;
    BOOST_TEST((must_fail(collect_garbage(root, experiment, store, options)).code == codes::wrong_state));
    check_there({true, true, true, true, true});
    must(write_file(guard, format_utc({noon.microseconds - std::int64_t{3601} * 1'000'000})));
    collect(options);
    check_there({false, false, false, false, false});
    BOOST_TEST(!path_exists(guard));
}

BOOST_AUTO_TEST_CASE(uncommitted_checkpoints_are_removed_unless_their_run_may_still_write) {
    // Run 0 began three checkpoints: one was never stored, one was committed and not reported. Run 1 may
    // still run.
    auto const half = make_uuid(), nowhere = make_uuid(), writing = make_uuid(), strangers = make_uuid();
    auto const unreported = commit();
    auto begin = [&](journal::JournalWriter& journal, std::string const& uuid) {
        must(journal.append(CheckpointBegun{noon, uuid}));
    };
    auto const first = experiment.trial(2).run(0), second = experiment.trial(2).run(1);
    must(make_directories(first.path()));
    must(make_directories(second.path()));
    auto killed = must(journal::JournalWriter::create(first.chief_journal()));
    auto alive = must(journal::JournalWriter::create(second.chief_journal()));
    for (auto const& uuid : {half, nowhere, unreported}) begin(killed, uuid);
    begin(alive, writing);
    for (auto const& uuid : {half, writing, strangers}) write_part(store, uuid, "byt");

    GcOptions options;
    options.mode = GcMode::dry_run;
    options.is_over = [](std::uint32_t trial) { return trial != 2; };
    auto const uuids_of = [](GcReport const& report) {
        std::set<std::string> set;
        for (auto const& each : report.uncommitted) set.insert(each.uuid);
        return set;
    };
    auto const dry = collect(options);
    BOOST_TEST((uuids_of(dry) == std::set{half}));
    BOOST_TEST(dry.uncommitted[0].trial == 2u);
    BOOST_TEST(dry.uncommitted[0].run == 0u);
    BOOST_TEST(path_exists(store.path_of(half)));
    options.mode = GcMode::remove;
    BOOST_TEST((uuids_of(collect(options)) == std::set{half}));
    BOOST_TEST(!path_exists(store.path_of(half)));
    BOOST_TEST(path_exists(store.path_of(writing)));
    options.is_over = [](std::uint32_t) { return true; };
    BOOST_TEST((uuids_of(collect(options)) == std::set{writing}));
    BOOST_TEST(collect(options).uncommitted.empty());
    BOOST_TEST(path_exists(store.path_of(strangers)));
    BOOST_TEST(store.load_manifest(unreported).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
