// If a creation fails before Slurm has the job, no files remain. If it fails later, the files stay and the
// message names the experiment.
#include <det/protocol/json.hpp>

#include <boost/test/unit_test.hpp>

#include "create_support.hpp"

using namespace det;
using namespace det::cli;
using namespace det::experiment;

namespace create_cleanup_test {

struct Fixture : CreateFixture {
    /// From this call on Slurm does not answer.
    void goes_away_at(std::string const& name) {
        slurm.on_call = [this, name](std::string const& call) {
            if (call.starts_with(name)) slurm.is_down = true;
        };
    }
    std::vector<std::string> paths() const {
        std::vector<std::string> paths;
        for (auto const& entry : std::filesystem::recursive_directory_iterator(root.path()))
            paths.push_back(entry.path().string());
        std::sort(paths.begin(), paths.end());
        return paths;
    }
};

}  // namespace create_cleanup_test

BOOST_FIXTURE_TEST_SUITE(create_cleanup_test, Fixture)

BOOST_AUTO_TEST_CASE(a_submission_that_slurm_would_refuse_writes_no_files) {
    slurm.refused = {"test"};
    BOOST_TEST(create() == to_int(ExitCode::refused_by_slurm));
    BOOST_TEST(!path_exists(root.path()));
    BOOST_TEST(slurm.calls.back() == "test");
    slurm.refused.clear();
    for (auto const* call : {"partitions", "test"}) {
        slurm.is_down = false;
        goes_away_at(call);
        BOOST_TEST(create() == to_int(ExitCode::slurm_unreachable), call);
        BOOST_TEST(!path_exists(root.path()));
    }
}

BOOST_AUTO_TEST_CASE(a_failed_submission_leaves_no_experiment) {
    slurm.refused = {"submit"};
    BOOST_TEST(run("experiment create " + (directory / "exp.yaml").string() + " --config entrypoint=train") ==
               to_int(ExitCode::refused_by_slurm));
    BOOST_TEST(out == "");
    BOOST_TEST(!path_exists(root.path()));  // the directories made for it are gone too
    BOOST_TEST(create() == to_int(ExitCode::refused_by_slurm));
    BOOST_TEST(!path_exists(root.experiments()));
    slurm.refused.clear();
    goes_away_at("submit");
    BOOST_TEST(create() == to_int(ExitCode::slurm_unreachable));
    BOOST_TEST(!path_exists(root.experiments()));
    BOOST_TEST(must(list_directory(root.contexts())).size() == 1u);  // the next attempt finds it
}

BOOST_AUTO_TEST_CASE(stored_code_stays_after_a_failure) {
    // While the first one waits for sbatch, another creates an experiment of the same code.
    bool other_is_there = false;
    slurm.on_call = [&](std::string const& call) {
        if (call != "submit" || other_is_there) return;
        other_is_there = true;
        ExperimentSpec spec;
        spec.context = ContextSpec{must(list_directory(root.contexts())).at(0).substr(0, 64), 1};
        must(make_directories(experiment(9).path()));
        must(write_file(experiment(9).spec(), render_spec(spec)));
        slurm.refused = {"submit"};
    };
    BOOST_TEST(create() == to_int(ExitCode::refused_by_slurm));
    BOOST_TEST(other_is_there);
    auto const spec = must(parse_spec(must(read_file(experiment(9).spec()))));
    BOOST_TEST(path_exists(root.context(spec.context.value().sha256)));
}

BOOST_AUTO_TEST_CASE(existing_files_stay_after_a_failure) {
    BOOST_TEST(create() == 0, err);
    auto const before = paths();
    slurm.refused = {"submit"};
    BOOST_TEST(create() == to_int(ExitCode::refused_by_slurm));  // the context is that of experiment 1
    BOOST_TEST(paths() == before, boost::test_tools::per_element());
    must(write_file(directory / "code/train", "other"));
    BOOST_TEST(create() == to_int(ExitCode::refused_by_slurm));
    BOOST_TEST(paths().size() == before.size() + 1);
    slurm.refused.clear();
    BOOST_TEST(create() == 0, err);
    BOOST_TEST(out == "Created experiment 2\n");
}

BOOST_AUTO_TEST_CASE(empty_directories_of_the_user_stay) {
    must(make_directories(root.contexts()));
    slurm.refused = {"submit"};
    BOOST_TEST(run("experiment create " + (directory / "exp.yaml").string() + " --config entrypoint=train") ==
               to_int(ExitCode::refused_by_slurm));
    BOOST_TEST(paths() == std::vector<std::string>{root.contexts().string()},
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_job_that_could_not_be_released_stays_and_is_reported) {
    slurm.refused = {"release"};
    BOOST_TEST(create() == to_int(ExitCode::refused_by_slurm));
    BOOST_TEST(contains(err, "experiment 1 was submitted as job 4711, which is held"), err);
    BOOST_TEST(path_exists(experiment(1).spec()));
    BOOST_TEST(path_exists(experiment(1).events() / "1-created.json"));
    slurm.refused.clear();
    BOOST_TEST(ask("experiment list")[0]["job_id"] == "4711");
}

BOOST_AUTO_TEST_CASE(an_unclear_submission_keeps_its_experiment) {
    slurm.submit_error = Error{codes::submission_unclear, "sbatch was not answered"};
    BOOST_TEST(create() == to_int(ExitCode::slurm_unreachable));
    BOOST_TEST(contains(err, "experiment 1 is kept"), err);
    BOOST_TEST(ask("experiment list")[0]["state"] == "SUBMITTING");
    BOOST_TEST(run("experiment kill 1") == 0, err);
    BOOST_TEST(ask("experiment list")[0]["state"] == "CANCELED");
}

BOOST_AUTO_TEST_CASE(a_job_whose_event_cannot_be_written_stays_and_is_reported) {
    slurm.on_call = [this](std::string const& call) {
        if (call != "submit") return;
        must(remove_tree(experiment(1).events()));
        must(write_file(experiment(1).events(), "in the way"));
    };
    BOOST_TEST(create() != 0);
    BOOST_TEST(contains(err, "experiment 1 was submitted as job 4711, which is held"), err);
    BOOST_TEST(path_exists(experiment(1).spec()));
    BOOST_TEST(slurm.calls.back() == "submit");  // the job is not released, because it must not run
}

BOOST_AUTO_TEST_CASE(a_refused_context_leaves_no_files_and_no_job) {
    std::filesystem::create_symlink("/etc", directory / "code/out");
    BOOST_TEST(create() == to_int(ExitCode::bad_file));
    BOOST_TEST(contains(err, "[unsafe-link]"), err);
    BOOST_TEST(!path_exists(root.path()));
    BOOST_TEST(slurm.calls == (std::vector<std::string>{"partitions", "config"}),
               boost::test_tools::per_element());
    must(remove_tree(directory / "code"));
    BOOST_TEST(create() == to_int(ExitCode::absent));
    BOOST_TEST(!path_exists(root.path()));
}

BOOST_AUTO_TEST_CASE(an_invalid_configuration_does_not_query_slurm) {
    must(write_file(directory / "exp.yaml", config_text() + "nonsense: 1\n"));
    BOOST_TEST(create() == to_int(ExitCode::bad_file));
    BOOST_TEST(slurm.calls.empty());
    must(write_file(directory / "exp.yaml", config_text()));
    BOOST_TEST(create(" --config resources.slots_per_trial=6") == to_int(ExitCode::bad_file));
    BOOST_TEST(contains(err, "[slots-do-not-fit]"), err);
    BOOST_TEST(!path_exists(root.path()));
}

BOOST_AUTO_TEST_CASE(a_root_that_cannot_be_created_is_reported) {
    must(write_file(directory / "file", ""));
    environment.set("DET_ROOT", (directory / "file/det").string());
    BOOST_TEST(create() != 0);
    BOOST_TEST(contains(err, "is not a directory"), err);
    BOOST_TEST(slurm.calls.empty());
    environment.set("DET_ROOT", "/proc/det");  // nobody can make a directory there
    BOOST_TEST(create() != 0);
    BOOST_TEST(contains(err, "error:"), err);
    BOOST_REQUIRE(!slurm.calls.empty());
    BOOST_TEST(slurm.calls.back() == "test");
}

BOOST_AUTO_TEST_SUITE_END()
