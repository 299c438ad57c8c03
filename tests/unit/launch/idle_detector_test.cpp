// Whether a run is idle, from what its nodes measure and its chief reports.
#include "idle_detector.hpp"

#include <det/foundation/files.hpp>
#include <det/journal/writer.hpp>
#include <det/protocol/json.hpp>

#include <boost/test/unit_test.hpp>

#include "check_result.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::launch::supervisor;
using namespace std::chrono_literals;

namespace idle_detector_test {

IdleDetector::Time const start{};

/// A run on two nodes with a timeout of 100 s, which is checked each 10 s. Both nodes measure.
struct Fixture {
    IdleDetector detector{100s, start};
    RunUse use{{NodeUsage{}, NodeUsage{}}, true, 0, false};

    /// Checks until `end`, while the nodes are idle. \return when the run is found idle
    std::optional<std::chrono::seconds> find_idle(std::chrono::seconds end) {
        while (*detector.next_check() <= start + end) {
            auto const now = *detector.next_check();
            for (auto& node : use.nodes) {
                if (!node) continue;
                ++node->windows;
                node->idle_ms += 10'000;
            }
            if (detector.check(use, now)) return std::chrono::floor<std::chrono::seconds>(now - start);
        }
        return std::nullopt;
    }
};

}  // namespace idle_detector_test

BOOST_FIXTURE_TEST_SUITE(idle_detector, idle_detector_test::Fixture)

using namespace idle_detector_test;

BOOST_AUTO_TEST_CASE(without_a_timeout_no_run_is_idle) {
    IdleDetector without(std::nullopt, start);
    BOOST_TEST(!without.next_check());
    BOOST_TEST(!without.check(use, start + 1h));
}

BOOST_AUTO_TEST_CASE(a_run_is_idle_when_all_nodes_have_been_for_the_timeout_and_it_is_told_once) {
    BOOST_TEST((find_idle(1000s) == 100s));
    BOOST_TEST(!find_idle(1000s).has_value());
}

BOOST_AUTO_TEST_CASE(a_node_that_is_late_does_not_make_the_run_idle_once_more) {
    BOOST_TEST((find_idle(1000s) == 100s));
    for (int i = 0; i < 10; ++i) {  // node 1 writes no file
        ++use.nodes[0]->windows;
        use.nodes[0]->idle_ms += 10'000;
        BOOST_TEST(!detector.check(use, *detector.next_check()));
    }
    BOOST_TEST(!find_idle(2000s).has_value());
}

BOOST_AUTO_TEST_CASE(a_run_that_works_again_and_then_rests_is_told_again) {
    BOOST_TEST((find_idle(1000s) == 100s));
    use.nodes[1]->idle_ms = 0;
    ++use.nodes[1]->windows;
    BOOST_TEST(!detector.check(use, start + 110s));
    BOOST_TEST((find_idle(1000s) == 210s));
}

BOOST_AUTO_TEST_CASE(one_node_that_works_is_enough) {
    for (int i = 0; i < 50; ++i) {
        auto const now = *detector.next_check();
        for (auto& node : use.nodes) ++node->windows;
        use.nodes[0]->idle_ms += 10'000;
        BOOST_TEST(!detector.check(use, now));
    }
}

BOOST_AUTO_TEST_CASE(a_node_that_measures_nothing_or_no_more_is_not_idle) {
    use.nodes[1] = std::nullopt;
    BOOST_TEST(!find_idle(1000s).has_value());
    use.nodes[1] = NodeUsage{1, 3'600'000, 0};
    use.nodes[0]->idle_ms = 3'600'000;
    auto const now = *detector.next_check();
    BOOST_TEST(!detector.check(use, now));  // counts from here on
    for (int i = 0; i < 50; ++i) {
        ++use.nodes[0]->windows;
        BOOST_TEST(!detector.check(use, *detector.next_check()), i);
    }
}

BOOST_AUTO_TEST_CASE(the_start_of_a_program_does_not_count_for_another_timeout) {
    use.has_trained = false;
    IdleDetector with_step(100s, start);
    BOOST_TEST((find_idle(1000s) == 190s));  // a program that reports no steps
    // From the first step on the time counts.
    detector = IdleDetector(100s, start);
    use.nodes = {NodeUsage{}, NodeUsage{}};
    BOOST_TEST(!find_idle(50s).has_value());
    use.has_trained = true;
    BOOST_TEST((find_idle(1000s) == 150s));
}

BOOST_AUTO_TEST_CASE(a_save_is_no_idleness_for_a_timeout_at_most) {
    BOOST_TEST(!find_idle(50s).has_value());
    use.saves_begun = 1;
    use.is_saving = true;
    BOOST_TEST(!find_idle(110s).has_value());
    use.is_saving = false;  // committed
    BOOST_TEST((find_idle(1000s) == 210s));
    // A save that never ends.
    detector = IdleDetector(100s, start);
    use = {{NodeUsage{}, NodeUsage{}}, true, 1, true};
    BOOST_TEST((find_idle(1000s) == 200s));
}

BOOST_AUTO_TEST_CASE(a_supervisor_that_was_stopped_counts_anew) {
    BOOST_TEST(!find_idle(90s).has_value());
    for (auto& node : use.nodes) *node = {node->windows + 1, 7'200'000, 0};
    BOOST_TEST(!detector.check(use, start + 2h));
    BOOST_TEST((find_idle(7200s + 1000s) == 7200s + 100s));
}

BOOST_AUTO_TEST_CASE(the_policy_is_in_the_configuration) {
    ExperimentSpec spec;
    spec.config = Json::object();
    BOOST_TEST(!find_idle_policy(spec).has_value());
    spec.config = Json{{"slurm", {{"idle_timeout", {{"after", 1800}, {"action", "warn"}}}}}};
    BOOST_TEST((find_idle_policy(spec)->after == 30min));
    BOOST_TEST(!find_idle_policy(spec)->ends_run);
    spec.config = Json{{"slurm", {{"idle_timeout", {{"after", 1800}, {"action", "end"}}}}}};
    BOOST_TEST(find_idle_policy(spec)->ends_run);
}

BOOST_AUTO_TEST_CASE(the_files_of_a_run_tell_its_use_its_first_step_and_its_saves) {
    TemporaryDirectory directory;
    RunLayout const run(directory.path());
    RunUseReader reader(run);
    auto const nothing = reader.read(2);
    BOOST_TEST(nothing.nodes.size() == 2u);
    BOOST_TEST((!nothing.nodes[0] && !nothing.has_trained && !nothing.is_saving));
    must(write_file(run.node_usage(0), render_node_usage({3, 20'000, 1.5})));
    must(write_file(run.node_usage(1), "{\"node_usage\": 1, \"windows\": \"many\"}\n"));
    auto journal = must(journal::JournalWriter::create(run.chief_journal()));
    must(journal.append(FirstStep{{1}}));
    must(journal.append(CheckpointBegun{{2}, "one", 5}));
    auto const saving = reader.read(2);
    BOOST_TEST((saving.nodes[0] == NodeUsage{3, 20'000, 1.5}));
    BOOST_TEST(!saving.nodes[1].has_value());
    BOOST_TEST((saving.has_trained && saving.is_saving && saving.saves_begun == 1));
    must(journal.append(CheckpointCommitted{{3}, "one", 5, {}, {}}));
    BOOST_TEST(!reader.read(2).is_saving);
}

BOOST_AUTO_TEST_CASE(a_window_is_a_tenth_of_the_timeout) {
    BOOST_TEST((usage_window(10s) == 1s));
    BOOST_TEST((usage_window(100s) == 10s));
    BOOST_TEST((usage_window(24h) == 60s));
}

BOOST_AUTO_TEST_SUITE_END()
