// `experiment continue` is killed at each of its system calls. Afterwards the experiment is unchanged or
// continued, and after a second call it has been continued exactly once.
#include <det/protocol/json.hpp>

#include <boost/test/unit_test.hpp>

#include "continue_support.hpp"
#include "traced_command.hpp"

using namespace det;
using namespace det::cli;
using namespace det::experiment;

namespace continue_killed_test {

struct KilledFixture : ContinueFixture {
    static constexpr char line[] = "experiment continue 1 --config searcher.max_length.batches=200";

    bool continue_and_kill(int stop) {
        complete_single();
        must(journal::write_desired(experiment(1).desired(), DesiredState::cancel));
        return run_and_kill(stop, [this] { return run(line); });
    }

    int batches() const { return spec().config->at("searcher")["max_length"]["batches"]; }

    void check_what_is_left(bool was_killed) {
        bool const is_continued = spec().revision() != 0;
        BOOST_REQUIRE(was_killed || is_continued);
        BOOST_REQUIRE(batches() == (is_continued ? 200 : 100));
        if (is_continued) show_task(4712, 0, slurm::JobState::pending, "PENDING");
        BOOST_REQUIRE(state() == (is_continued ? "QUEUED" : "COMPLETED"));
        // Commands show the same state that jobs see.
        BOOST_REQUIRE(run("experiment config 1") == 0);
        BOOST_REQUIRE(contains(out, is_continued ? "batches: 200" : "batches: 100"));

        slurm.calls.clear();
        slurm.next_job = 4720;
        BOOST_REQUIRE_MESSAGE(run(line) == 0, err);
        BOOST_REQUIRE(batches() == 200);
        BOOST_REQUIRE(spec().revisions.size() == 1u);
        BOOST_REQUIRE(was_called(is_continued ? "release 4712" : "release 4720"));
        BOOST_REQUIRE(ask("experiment describe 1")["continuations"].size() == 1u);
        BOOST_REQUIRE(contains(must(read_file(experiment(1).config())), "batches: 200"));
        if (!is_continued) show_task(4720, 0, slurm::JobState::pending, "PENDING");
        BOOST_REQUIRE(state() == "QUEUED");
    }
};

}  // namespace continue_killed_test

BOOST_AUTO_TEST_SUITE(continue_killed_test)

BOOST_AUTO_TEST_CASE(a_continuation_killed_at_any_system_call_is_complete_or_absent) {
    constexpr int stops_max = 20'000, stride = 16;  // between kills while the command only reads
    int kills = 0;
    bool has_begun = false;
    bool was_killed = true;
    for (int stop = 0; was_killed; stop += has_begun ? 1 : stride) {
        BOOST_REQUIRE(stop < stops_max);
        KilledFixture scene;
        BOOST_TEST_CONTEXT("killed at stop " << stop) {
            was_killed = scene.continue_and_kill(stop);
            if (!has_begun && path_exists(scene.experiment(1).revisions())) {
                has_begun = true;
                stop -= stride;
            }
            scene.check_what_is_left(was_killed);
            ++kills;
        }
    }
    BOOST_TEST_MESSAGE("killed " << kills - 1 << " times");
    BOOST_TEST(kills > 100);
}

BOOST_AUTO_TEST_SUITE_END()
