// Experiments named by their number, by their name or as `last`, and the short commands.
#include <boost/test/unit_test.hpp>

#include "create_support.hpp"

using namespace det;
using namespace det::cli;

namespace experiment_names_test {

struct Fixture : CreateFixture {
    /// Three experiments: `first`, `second.model`, and one whose name was changed from `example` to `third`.
    Fixture() {
        BOOST_TEST(create(" --config name=first") == 0, err);
        BOOST_TEST(create(" --config name=second.model") == 0, err);
        BOOST_TEST(create() == 0, err);
        BOOST_TEST(run("experiment set name 3 third") == 0, err);
    }
    int described(std::string const& name) { return ask("experiment describe " + name)["id"]; }
};

}  // namespace experiment_names_test

BOOST_FIXTURE_TEST_SUITE(experiment_names_test, Fixture)

BOOST_AUTO_TEST_CASE(an_experiment_is_named_by_its_number_its_present_name_or_last) {
    BOOST_TEST(described("2") == 2);
    BOOST_TEST(described("first") == 1);
    BOOST_TEST(described("second.model") == 2);
    BOOST_TEST(described("third") == 3);
    BOOST_TEST(described("last") == 3);
    BOOST_TEST(run("experiment describe example") == to_int(ExitCode::absent));  // the former name
}

BOOST_AUTO_TEST_CASE(a_trial_is_named_by_its_experiment_and_its_number) {
    BOOST_TEST(ask("trial describe third")["id"] == 3000000);
    BOOST_TEST(ask("trial describe first.0")["id"] == 1000000);
    BOOST_TEST(ask("trial describe second.model")["id"] == 2000000);
    BOOST_TEST(ask("trial describe second.model.0")["id"] == 2000000);
    BOOST_TEST(ask("trial describe last.0")["id"] == 3000000);
    BOOST_TEST(run("trial describe last.1") == to_int(ExitCode::absent));
    BOOST_TEST(contains(err, "experiment 3 has no trial 1"), err);
}

BOOST_AUTO_TEST_CASE(several_experiments_are_named_as_one_is) {
    BOOST_TEST(run("experiment compare first last") == 0, err);
    auto const compared = out;
    BOOST_TEST(run("experiment compare 1 3") == 0, err);
    BOOST_TEST(compared == out);
    auto const described_together = ask("experiment describe first,3,last");
    BOOST_REQUIRE(described_together.size() == 3u);
    BOOST_TEST(described_together[0]["id"] == 1);
    BOOST_TEST(described_together[2]["id"] == 3);
}

BOOST_AUTO_TEST_CASE(a_name_that_two_experiments_have_is_refused) {
    BOOST_TEST(run("experiment set name 3 first") == 0, err);
    BOOST_TEST(run("experiment kill first") == to_int(ExitCode::usage));
    BOOST_TEST(contains(err, "experiments 1, 3 have the name 'first'"), err);
    BOOST_TEST(contains(err, "write the id of one of them"), err);
}

BOOST_AUTO_TEST_CASE(a_name_that_does_not_exist_is_answered_with_those_that_do) {
    BOOST_TEST(run("experiment describe firts") == to_int(ExitCode::absent));
    BOOST_TEST(contains(err, "there is no experiment 'firts'"), err);
    BOOST_TEST(contains(err, "use 'first'; there are first, second.model, third"), err);
    BOOST_TEST(run("status lst") == to_int(ExitCode::absent));
    BOOST_TEST(contains(err, "use 'last', the newest one; there are first, second.model, third"), err);
    BOOST_TEST(run("experiment describe first,firts") == to_int(ExitCode::absent));
    BOOST_TEST(contains(err, "there is no experiment 'firts'"), err);
}

BOOST_FIXTURE_TEST_CASE(without_experiments_a_name_leads_to_create, CliFixture) {
    for (auto const* name : {"last", "first"}) {
        BOOST_TEST(run(std::string("experiment describe ") + name) == to_int(ExitCode::absent), name);
        BOOST_TEST(contains(err, "see 'det-submit experiment create --help'"), err);
    }
}

BOOST_AUTO_TEST_CASE(short_commands_are_those_of_their_groups) {
    BOOST_TEST(run("ls") == 0);
    auto const listed = out;
    BOOST_TEST(run("experiment list") == 0);
    BOOST_TEST(listed == out);
    BOOST_TEST(ask("status last")["id"] == 3);
    BOOST_TEST(run("stop last") == to_int(ExitCode::could_not));
    BOOST_TEST(contains(err, "experiment 3 has ended"), err);  // the fake Slurm knows no job of it
    for (auto const& each : short_commands()) {
        auto const page = must(parse_command_line({std::string(each.word), "--help"})).text;
        auto const full =
            must(parse_command_line({std::string(each.group), std::string(each.name), "--help"})).text;
        BOOST_TEST(page == full, each.word);
    }
}

BOOST_AUTO_TEST_SUITE_END()
