#include <det/journal/superseded.hpp>

#include <boost/test/unit_test.hpp>

using namespace det;
using namespace det::journal;

namespace superseded_test {

using Beginnings = std::vector<RunBeginning>;
constexpr auto none = std::numeric_limits<std::uint64_t>::max();

std::vector<std::uint64_t> first_superseded(Beginnings const& runs, std::string_view group = "training") {
    std::vector<std::uint64_t> steps;
    for (auto const& cut_off : find_cut_offs(runs)) steps.push_back(cut_off.first_superseded_step(group));
    return steps;
}

using Steps = std::vector<std::uint64_t>;

}  // namespace superseded_test

BOOST_AUTO_TEST_SUITE(superseded_test)

BOOST_AUTO_TEST_CASE(the_last_run_supersedes_and_is_not_superseded) {
    BOOST_TEST((first_superseded({}) == Steps{}));
    BOOST_TEST((first_superseded({{}}) == Steps{none}));
    BOOST_TEST((first_superseded({{}, {100, {}}}) == Steps{101, none}));
}

BOOST_AUTO_TEST_CASE(a_report_at_the_step_of_the_checkpoint_is_kept) {
    auto const cut_offs = find_cut_offs(Beginnings{{}, {100, {}}});
    BOOST_TEST(!cut_offs[0].supersedes("training", 100));
    BOOST_TEST(cut_offs[0].supersedes("training", 101));
    BOOST_TEST(!cut_offs[1].supersedes("training", none));
}

BOOST_AUTO_TEST_CASE(the_earliest_step_of_all_later_runs_counts) {
    BOOST_TEST((first_superseded({{}, {100, {}}, {50, {}}, {200, {}}}) == Steps{51, 51, 201, none}));
}

BOOST_AUTO_TEST_CASE(without_a_checkpoint_the_first_report_of_the_group_counts) {
    Beginnings const runs{{}, {{}, {{"training", 40}, {"validation", 100}}}};
    BOOST_TEST((first_superseded(runs) == Steps{40, none}));
    BOOST_TEST((first_superseded(runs, "validation") == Steps{100, none}));
    BOOST_TEST((first_superseded(runs, "other") == Steps{none, none}));
    BOOST_TEST((first_superseded({{}, {}, {{}, {{"training", 0}}}}) == Steps{0, 0, none}));
}

BOOST_AUTO_TEST_CASE(a_run_that_resumed_counts_by_its_checkpoint_only) {
    Beginnings const runs{{}, {100, {{"training", 40}}}, {{}, {{"training", 60}}}};
    BOOST_TEST((first_superseded(runs) == Steps{60, 60, none}));
    BOOST_TEST((first_superseded(runs, "validation") == Steps{101, none, none}));
}

BOOST_AUTO_TEST_CASE(the_largest_number_of_steps_does_not_overflow) {
    auto const cut_offs = find_cut_offs(Beginnings{{}, {none, {}}});
    BOOST_TEST(!cut_offs[0].supersedes("training", none));
}

BOOST_AUTO_TEST_CASE(a_beginning_is_read_from_the_records) {
    RunBeginning beginning;
    RunStarted started;
    started.steps_completed = 7;
    beginning.add(started);
    BOOST_TEST(!beginning.resumed_from.has_value());
    started.latest_checkpoint = "uuid";
    beginning.add(started);
    BOOST_TEST(beginning.resumed_from.value() == 7u);
    for (std::uint64_t const step : {8, 9}) beginning.add(MetricsReported{{}, "training", step, {}});
    BOOST_TEST(beginning.first_steps.at("training") == 8u);
}

BOOST_AUTO_TEST_SUITE_END()
