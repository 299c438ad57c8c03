#include <det/checkpoint/load.hpp>
#include <det/checkpoint/shared_fs_store.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/text.hpp>

#include <boost/test/unit_test.hpp>

#include "check_result.hpp"
#include "temporary_directory.hpp"
#include "worker_state.hpp"

using namespace det;
using namespace det::checkpoint;

namespace checkpoint_faults_test {

struct Fixture {
    TemporaryDirectory directory;
    SharedFsStore store{directory / "checkpoints"};
    SystemProcessRunner runner;
    std::string before = run("", 0).out;  // a checkpoint that was saved without a fault

    enum class Writes { once, repeated };

    /// Runs checkpoint_worker with a fault at call number `at`; 0: without a fault.
    ProcessOutput run(std::string const& fault, long at, Writes writes = Writes::once) {
        auto environment = Environment::of_this_process();
        environment.set("LD_PRELOAD", DET_FAULT_INJECTOR);
        environment.set("DET_FAULT_BELOW", directory.path().string());
        environment.set("DET_FAULT_COUNT", at == 0 ? (directory / "count").string() : "");
        environment.set("DET_FAULT_APPLIED", applied_file().string());
        environment.set("DET_FAULT", fault);
        environment.set("DET_FAULT_AT", std::to_string(at));
        std::vector<std::string> argv{DET_CHECKPOINT_WORKER, (directory / "checkpoints").string(),
                                      std::to_string(at + 1)};
        if (writes == Writes::repeated) argv.emplace_back("repeat");
        return must(runner.run({argv, environment}));
    }
    /// Whether the last run had a fault that does not prevent its call (`late`, `twice`).
    bool was_applied() const { return must(read_file(applied_file())) == "1"; }
    std::filesystem::path applied_file() const { return directory / "applied"; }
    /// The number of calls of a run without a fault.
    long count_calls() const { return *parse_integer<long>(must(read_file(directory / "count"))); }

    bool has_contents(std::string const& uuid, std::int64_t seed) {
        NoPeers alone;
        for (int rank : {0, 1}) {
            WorkerState found(rank, 0), expected(rank, seed);
            if (!load(alone, store, {uuid}, found.state, OnDamage::fail) || found.values != expected.values)
                return false;
        }
        return true;
    }

    void check_after(ProcessOutput const& output, std::string const& what, std::int64_t seed) {
        BOOST_TEST(output.exit_code != 134, what << ": " << output.err);
        bool is_found = false;
        for (auto const& uuid : must(store.list())) {
            if (!store.load_manifest(uuid)) continue;
            BOOST_TEST(store.verify_on_disk(uuid).has_value(),
                       what << ": " << uuid << " has a manifest but is damaged");
            if (uuid == before) continue;
            BOOST_TEST(has_contents(uuid, seed), what << ": " << uuid << " has wrong contents");
            is_found = is_found || uuid == output.out;
        }
        BOOST_TEST((output.exit_code != 0 || is_found),
                   what << ": the worker reported a commit that does not exist");
        BOOST_TEST(has_contents(before, 1), what << ": the earlier checkpoint is lost");
        for (auto const& uuid : must(store.list())) {
            if (uuid != before) must(remove_tree(store.path_of(uuid)));
        }
    }

    void check_at_every_call(std::string const& fault) {
        BOOST_REQUIRE(must(store.verify_on_disk(before)).tensors.size() == 1u);
        auto const calls = count_calls();
        BOOST_REQUIRE(calls > 30);
        long failures = 0;
        for (long at = 1; at <= calls; ++at) {
            auto const output = run(fault, at);
            failures += output.exit_code != 0 ? 1 : 0;
            check_after(output, fault + " at call " + std::to_string(at), at + 1);
        }
        // The order of calls differs between runs, so some faults hit nothing. A short write is not a
        // failure.
        BOOST_TEST((fault == "short" ? failures == 0 : failures > calls / 2), failures << " of " << calls);
    }

    /// Whether each save succeeds. Returns to how many calls a fault was applied that does not prevent them.
    long check_that_saves_succeed(std::string const& fault, Writes writes) {
        auto const calls = count_calls();
        long applied = 0;
        for (long at = 1; at <= calls; ++at) {
            auto const output = run(fault, at, writes);
            applied += was_applied() ? 1 : 0;
            auto const what = fault + " at call " + std::to_string(at);
            BOOST_TEST(output.exit_code == 0, what << ": " << output.err);
            check_after(output, what, at + 1);
        }
        return applied;
    }
};

}  // namespace checkpoint_faults_test

BOOST_FIXTURE_TEST_SUITE(checkpoint_faults_test, Fixture)

BOOST_AUTO_TEST_CASE(a_kill_at_any_call_leaves_no_incomplete_checkpoint_with_a_manifest) {
    check_at_every_call("kill");
}
BOOST_AUTO_TEST_CASE(a_failing_call_is_an_error_or_has_no_effect) { check_at_every_call("EIO"); }
BOOST_AUTO_TEST_CASE(a_full_disk_at_any_call_is_an_error) { check_at_every_call("ENOSPC"); }
BOOST_AUTO_TEST_CASE(a_save_is_repeated_after_a_failure_at_any_call) {
    for (auto const* fault : {"ENOSPC", "EDQUOT", "EIO"}) check_that_saves_succeed(fault, Writes::repeated);
}
// On NFS, if the server's reply is lost.
BOOST_AUTO_TEST_CASE(a_save_is_repeated_after_any_call_that_has_failed_and_has_its_effect) {
    auto const applied = check_that_saves_succeed("late", Writes::repeated);
    BOOST_TEST(applied > count_calls() / 2);
}
BOOST_AUTO_TEST_CASE(a_failing_call_that_has_its_effect_is_an_error_or_is_seen_to_have_it) {
    check_at_every_call("late");
}
BOOST_AUTO_TEST_CASE(a_save_succeeds_if_any_call_is_carried_out_twice) {
    // At least the directory of the checkpoint, the names of two files, and that of the manifest.
    BOOST_TEST(check_that_saves_succeed("twice", Writes::once) >= 4);
}
BOOST_AUTO_TEST_CASE(a_fault_that_the_injector_does_not_know_aborts_the_program) {
    BOOST_TEST(run("lately", 1).exit_code == 134);
}
BOOST_AUTO_TEST_CASE(a_short_write_is_continued) { check_at_every_call("short"); }

BOOST_AUTO_TEST_SUITE_END()
