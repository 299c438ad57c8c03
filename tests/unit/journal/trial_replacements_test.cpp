#include <det/foundation/files.hpp>
#include <det/journal/reader.hpp>
#include <det/journal/trial_replacements.hpp>

#include <boost/test/unit_test.hpp>
#include <thread>

#include "check_result.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::journal;

namespace trial_replacements_test {

struct Fixture {
    TemporaryDirectory root;
    ExperimentLayout experiment{RootLayout(root.path()), {7}};

    Fixture() { must(make_directories(experiment.trials())); }
    std::uint32_t replace(std::uint32_t trial, std::string const& claimed = "") {
        return must(find_or_create_replacement(experiment, 4, trial, claimed));
    }
    void mark(std::uint32_t trial, std::string const& replaces) {
        must(make_directories(experiment.trial(trial).path()));
        must(write_file(experiment.trial(trial).replaces(), replaces));
    }
};

}  // namespace trial_replacements_test

BOOST_FIXTURE_TEST_SUITE(trial_replacements_test, trial_replacements_test::Fixture)

BOOST_AUTO_TEST_CASE(a_replacement_gets_the_next_index_after_the_planned_trials) {
    BOOST_TEST(must(load_replacements(experiment, 4)).empty());
    BOOST_TEST(replace(2) == 4);
    BOOST_TEST(replace(0) == 5);
    BOOST_TEST(replace(4, "123_4\n") == 6);
    BOOST_TEST(replace(2) == 4);  // a repeated call finds the replacement
    BOOST_TEST(must(read_file(experiment.trial(6).claimed())) == "123_4\n");
    BOOST_TEST(!path_exists(experiment.trial(4).claimed()));
    auto const found = must(load_replacements(experiment, 4));
    BOOST_TEST((found == Replacements{{4, 2}, {5, 0}, {6, 4}}));
    BOOST_TEST(find_replacement(found, 4).value() == 6);
    BOOST_TEST(!find_replacement(found, 6).has_value());
    BOOST_TEST(find_planned_trial(found, 6) == 2);
    BOOST_TEST(find_planned_trial(found, 3) == 3);
    BOOST_TEST(must(load_replaced_trial(experiment, 6)).value() == 4);
    BOOST_TEST(!must(load_replaced_trial(experiment, 1)).has_value());
    // Nothing is left beside the directories of the three trials.
    BOOST_TEST(must(list_directory(experiment.trials())).size() == 3);
}

BOOST_AUTO_TEST_CASE(of_two_replacements_of_a_trial_the_first_counts) {
    mark(4, "1\n");
    mark(5, "1\n");
    mark(6, "5\n");
    BOOST_TEST((must(load_replacements(experiment, 4)) == Replacements{{4, 1}, {6, 5}}));
    BOOST_TEST(replace(1) == 4);
}

BOOST_AUTO_TEST_CASE(directories_that_replace_nothing_are_no_trials) {
    must(make_directories(experiment.trial(4).path()));
    BOOST_TEST(must(load_replacements(experiment, 4)).empty());
    BOOST_TEST(replace(0) == 5);
}

BOOST_AUTO_TEST_CASE(a_damaged_file_is_an_error) {
    for (auto const* text : {"", "x\n", "4\n", "9\n", "-1\n"}) {
        mark(4, text);
        BOOST_TEST((must_fail(load_replacements(experiment, 4)).code == codes::damaged));
    }
}

BOOST_AUTO_TEST_CASE(processes_that_replace_trials_at_the_same_time_get_different_ones) {
    std::vector<std::uint32_t> found(4);
    {
        std::vector<std::jthread> threads;
        for (std::uint32_t trial = 0; trial < 4; ++trial)
            threads.emplace_back([&, trial] { found[trial] = replace(trial); });
    }
    std::ranges::sort(found);
    BOOST_TEST((found == std::vector<std::uint32_t>{4, 5, 6, 7}));
}

BOOST_AUTO_TEST_SUITE_END()
