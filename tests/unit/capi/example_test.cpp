// Runs the C example of templates/examples/line, a program that uses only libdet, as ranks of a run.
#include <det/foundation/process.hpp>

#include <boost/test/unit_test.hpp>

#include "capi_support.hpp"

using namespace det;

namespace example_test {

constexpr int ranks = 2;

struct Fixture : NodeRunFixture {
    Fixture() { set_latest_checkpoint({}); }

    /// Runs the example. Returns what the chief printed.
    std::string run_example() const {
        std::vector<Command> commands;
        for (int rank = 0; rank < ranks; ++rank) {
            commands.push_back({{DET_EXAMPLE_LINE}, environment_of(rank, ranks)});
        }
        std::string printed;
        SystemProcessRunner runner;
        for (auto& result : runner.run_all(commands)) {
            auto const output = must(std::move(result));
            BOOST_TEST(output.exit_code == 0, output.err);
            BOOST_TEST(output.err == "");
            printed += output.out;
        }
        return printed;
    }
    template <class Kind>
    std::vector<Kind> recorded() const {
        std::vector<Kind> found;
        for (auto const& record : records()) {
            if (auto const* one = std::get_if<Kind>(&record)) found.push_back(*one);
        }
        return found;
    }
};

constexpr char fitted[] = "y = 3.00 x + 1.00 at step 300\n";

}  // namespace example_test

BOOST_FIXTURE_TEST_SUITE(example_test, Fixture)

BOOST_AUTO_TEST_CASE(the_example_fits_a_line_and_reports_its_progress) {
    BOOST_TEST(run_example() == fitted);
    BOOST_TEST(recorded<MetricsReported>().size() == 6u);
    BOOST_TEST(recorded<ProgressReported>().back().progress == 1.0);
    auto const checkpoints = recorded<CheckpointCommitted>();
    BOOST_REQUIRE(checkpoints.size() == 3u);
    BOOST_TEST(checkpoints.back().steps_completed == 300u);
}

BOOST_AUTO_TEST_CASE(the_example_continues_where_it_was_preempted) {
    raise_notice();
    BOOST_TEST(run_example().ends_with("at step 1\n"));
    BOOST_TEST(recorded<PreemptionAcknowledged>().size() == 1u);
    auto const checkpoints = recorded<CheckpointCommitted>();
    BOOST_REQUIRE(checkpoints.size() == 1u);

    set_latest_checkpoint(checkpoints.front().uuid);
    must(remove_tree(run_dir / preemption::notice_file));
    must(preemption::NoticePage::create(run_dir / preemption::notice_file));
    must(remove_tree(run.chief_journal()));
    BOOST_TEST(run_example() == std::string("resumed at step 1\n") + fitted);
}

BOOST_AUTO_TEST_CASE(the_example_trains_for_the_length_of_its_experiment) {
    ExperimentSpec spec;
    spec.id = {7};
    spec.checkpoint_path = directory / "checkpoints";
    spec.searcher = {"single", "loss", true, Json{{"max_length", {{"batches", 1}}}}};  // as create --test
    must(write_file(info / info_files::spec, render_spec(spec)));
    BOOST_TEST(run_example().ends_with("at step 1\n"));
    BOOST_TEST(recorded<MetricsReported>().size() == 1u);
    BOOST_TEST(recorded<CheckpointCommitted>().size() == 1u);
}

BOOST_AUTO_TEST_CASE(the_example_reports_errors) {
    auto wrong = environment_of(0, 1);
    wrong.set("RANK", "first");
    SystemProcessRunner runner;
    auto const output = must(runner.run({{DET_EXAMPLE_LINE}, wrong}));
    BOOST_TEST(output.exit_code == 1);
    BOOST_TEST(output.err.starts_with("error: RANK='first' is not a number [misuse]\n"));
}

BOOST_AUTO_TEST_SUITE_END()
