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

namespace {

struct Fixture {
    TemporaryDirectory directory;
    SharedFsStore store{directory / "checkpoints"};
    SystemProcessRunner runner;
    std::string before = run("", 0).out;  // a checkpoint that was made in peace

    /// A worker that meets a fault at its so many-th call; 0: at none.
    ProcessOutput run(std::string const& fault, long at) {
        auto environment = Environment::of_this_process();
        environment.set("LD_PRELOAD", DET_FAULT_INJECTOR);
        environment.set("DET_FAULT_BELOW", directory.path().string());
        environment.set("DET_FAULT_COUNT", at == 0 ? (directory / "count").string() : "");
        environment.set("DET_FAULT", fault);
        environment.set("DET_FAULT_AT", std::to_string(at));
        return must(
            runner.run({{DET_CHECKPOINT_WORKER, (directory / "checkpoints").string(), std::to_string(at + 1)},
                        environment}));
    }
    /// Calls that a run without a fault makes.
    long count_calls() const { return *parse_integer<long>(must(read_file(directory / "count"))); }

    bool holds(std::string const& uuid, std::int64_t seed) {
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
            if (!store.find(uuid)) continue;
            BOOST_TEST(store.verify(uuid).has_value(), what << ": a manifest calls " << uuid << " whole");
            if (uuid == before) continue;
            BOOST_TEST(holds(uuid, seed), what << ": " << uuid << " holds something else");
            is_found = is_found || uuid == output.out;
        }
        BOOST_TEST((output.exit_code != 0 || is_found), what << ": it was said to be committed");
        BOOST_TEST(holds(before, 1), what << ": the one before is gone");
        for (auto const& uuid : must(store.list())) {
            if (uuid != before) must(remove_tree(store.path_of(uuid)));
        }
    }

    void check_everywhere(std::string const& fault) {
        BOOST_REQUIRE(must(store.verify(before)).tensors.size() == 1u);
        auto const calls = count_calls();
        BOOST_REQUIRE(calls > 30);
        long failures = 0;
        for (long at = 1; at <= calls; ++at) {
            auto const output = run(fault, at);
            failures += output.exit_code != 0 ? 1 : 0;
            check_after(output, fault + " at call " + std::to_string(at), at + 1);
        }
        // Threads take turns in another order each time, so single faults may miss; half a write is no
        // failure.
        BOOST_TEST((fault == "short" ? failures == 0 : failures > calls / 2), failures << " of " << calls);
    }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(checkpoint_faults_test, Fixture)

BOOST_AUTO_TEST_CASE(a_process_that_is_killed_at_any_call_leaves_no_half_checkpoint) {
    check_everywhere("kill");
}
BOOST_AUTO_TEST_CASE(a_call_that_fails_is_an_error_or_does_not_matter) { check_everywhere("EIO"); }
BOOST_AUTO_TEST_CASE(a_disk_that_is_full_at_any_call_is_an_error) { check_everywhere("ENOSPC"); }
BOOST_AUTO_TEST_CASE(a_write_that_takes_half_is_gone_on_with) { check_everywhere("short"); }

BOOST_AUTO_TEST_SUITE_END()
