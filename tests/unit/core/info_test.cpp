#include <det/core/info.hpp>

#include <boost/test/unit_test.hpp>

#include "core_support.hpp"

using namespace det;
using namespace det::core;

BOOST_FIXTURE_TEST_SUITE(info_test, RunFixture)

BOOST_AUTO_TEST_CASE(outside_of_a_run_there_is_no_info) {
    BOOST_TEST(!must(load_info({})).has_value());
    environment.set(variables::run_dir, "");
    BOOST_TEST(!must(load_info(environment)).has_value());
}

BOOST_AUTO_TEST_CASE(a_run_knows_its_trial) {
    auto const loaded = must(load_info(environment)).value();
    BOOST_TEST(loaded.run_dir == run_dir);
    BOOST_TEST(loaded.run_path == run.path());
    BOOST_TEST(loaded.cluster.allocation_id == "7.3.2");
    BOOST_TEST(loaded.rendezvous.hosts == "n[0-1]");
    BOOST_TEST((loaded.trial.value().trial == TrialId{{7}, 3}));
    BOOST_TEST(loaded.spec.value().id.value == 7u);
}

BOOST_AUTO_TEST_CASE(a_script_outside_of_an_experiment_has_a_run_without_a_trial) {
    without_trial();
    environment.unset(variables::run_path);
    auto const loaded = must(load_info(environment)).value();
    BOOST_TEST(!loaded.trial.has_value());
    BOOST_TEST(!loaded.spec.has_value());
    BOOST_TEST(loaded.run_path.empty());
}

BOOST_AUTO_TEST_CASE(a_file_that_is_missing_is_named) {
    for (auto const* name : {info_files::cluster, info_files::rendezvous, info_files::spec}) {
        auto const text = must(read_file(info / name));
        must(remove_tree(info / name));
        auto const error = must_fail(load_info(environment));
        BOOST_TEST((error.code == codes::no_such_file), name);
        BOOST_TEST(error.message.find((info / name).string()) != std::string::npos, error.message);
        must(write_file(info / name, text));
    }
    BOOST_TEST(load_info(environment).has_value());
}

BOOST_AUTO_TEST_CASE(a_file_that_is_damaged_is_named) {
    for (auto const* name :
         {info_files::cluster, info_files::rendezvous, info_files::trial, info_files::spec}) {
        auto const text = must(read_file(info / name));
        for (std::string const& damage :
             {std::string(), std::string("{}"), text.substr(0, text.size() / 2)}) {
            must(write_file(info / name, damage));
            auto const error = must_fail(load_info(environment));
            BOOST_TEST((error.code == codes::damaged), name << ": " << damage);
            BOOST_TEST(error.notes.at(0) == "while reading '" + (info / name).string() + "'");
        }
        must(write_file(info / name, text));
    }
}

BOOST_AUTO_TEST_CASE(a_trial_without_the_path_of_its_run_is_refused) {
    // The journal would be written to the directory in which the program was started.
    environment.unset(variables::run_path);
    auto const error = must_fail(load_info(environment));
    BOOST_TEST((error.code == codes::misuse));
    BOOST_TEST(error.message.find("DET_RUN_PATH") != std::string::npos, error.message);
}

BOOST_AUTO_TEST_SUITE_END()
