// site try: the jobs that it submits, and how it judges their answers.
#include <det/foundation/executable.hpp>
#include <det/foundation/file_facts.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/preflight_facts.hpp>

#include <boost/test/unit_test.hpp>

#include "cli_support.hpp"

using namespace det;
using namespace det::cli;
using namespace det::experiment;

namespace site_try_test {

struct Fixture : CliFixture {
    slurm::JobState state = slurm::JobState::completed;
    bool nodes_answer = true;

    Fixture() {
        slurm.on_call = [this](std::string const& call) {
            if (call != "submit") return;
            slurm::JobStatus job;
            job.state = state;
            job.state_text = "PENDING";
            job.reason = "Resources";
            slurm.job = job;
            if (nodes_answer) answer(slurm.submissions.back().script.parent_path());
        };
    }

    static PreflightFacts facts_of(std::uint32_t index, std::filesystem::path const& directory) {
        PreflightFacts facts;
        facts.node = "n" + std::to_string(index);
        facts.index = index;
        facts.is_directory_same = path_exists(directory / preflight_token_file);
        facts.program = file_fingerprint(sibling_program("det-launch"));
        facts.clock_offset_us = must(measure_clock_offset_us(directory));
        facts.interfaces = "eth0";
        if (index == 0) facts.bytes_per_s = 1e9;
        facts.gpus_allocated = facts.gpus_visible = 1;
        facts.storage = StorageFacts{"", 1e9, std::uint64_t{1} << 40};
        return facts;
    }
    /// What the nodes of the job write.
    static void answer(std::filesystem::path const& directory) {
        for (std::uint32_t index : {0u, 1u})
            must(write_file(directory / preflight_file_name(index),
                            render_preflight_facts(facts_of(index, directory))));
    }
    bool is_root_clean() const { return must(list_directory(root.path())).empty(); }
};

}  // namespace site_try_test

BOOST_FIXTURE_TEST_SUITE(site_try_test, Fixture)

BOOST_AUTO_TEST_CASE(a_job_of_two_nodes_reports_what_they_see) {
    auto const answer = ask("site try");
    BOOST_TEST(answer["ok"] == true);
    BOOST_REQUIRE(answer["pools"].size() == 1u);
    BOOST_TEST(answer["pools"][0]["job_id"] == "4711");
    BOOST_TEST(answer["pools"][0]["nodes"][1]["node"] == "n1");
    auto const& options = slurm.submissions.at(0).options;
    for (auto const* option :
         {"--partition=compute", "--nodes=2", "--gres=gpu:1", "--time=5", "--no-requeue"})
        BOOST_TEST(std::ranges::count(options, option) == 1, option);
    BOOST_TEST(is_root_clean());
    BOOST_TEST(run("site try --pool compute") == 0);
    BOOST_TEST(contains(out, "nothing has to change"), out);
    BOOST_TEST(run("site try --pool nope") == to_int(ExitCode::bad_file));
}

BOOST_AUTO_TEST_CASE(nodes_that_report_nothing_are_a_finding) {
    nodes_answer = false;
    BOOST_TEST(run("site try") == to_int(ExitCode::could_not));
    BOOST_TEST(contains(out, "node 0 of job 4711 reported nothing"), out);
    BOOST_TEST(contains(out, "2 things to change"), out);
    BOOST_TEST(is_root_clean());
}

BOOST_AUTO_TEST_CASE(a_job_that_does_not_start_is_cancelled) {
    state = slurm::JobState::pending;
    BOOST_TEST(run("site try --timeout 5") == to_int(ExitCode::could_not));
    BOOST_TEST(contains(out, "did not start in time"), out);
    BOOST_TEST(contains(out, "Slurm's reason: Resources"), out);
    BOOST_TEST(slurm.calls.back() == "cancel 4711");
    BOOST_TEST(is_root_clean());
}

BOOST_AUTO_TEST_CASE(an_error_of_slurm_cancels_the_submitted_jobs) {
    slurm.refused = {"find"};
    BOOST_TEST(run("site try") == to_int(ExitCode::refused_by_slurm));
    BOOST_TEST(slurm.calls.back() == "cancel 4711");
    BOOST_TEST(is_root_clean());
    slurm.refused = {"find", "cancel"};
    BOOST_TEST(run("site try") == to_int(ExitCode::refused_by_slurm));
    BOOST_TEST(contains(err, "'scancel 4712' ends it"), err);
}

BOOST_AUTO_TEST_CASE(a_pool_that_refuses_the_job_is_a_finding_and_the_others_are_tried) {
    slurm.submit_error = Error{codes::slurm_refused, "Slurm refused the job", "", {}, {"invalid account"}};
    BOOST_TEST(run("site try") == to_int(ExitCode::could_not));
    BOOST_TEST(contains(out, "invalid account"), out);
    slurm.submit_error = Error{codes::slurm_unreachable, "no answer"};
    BOOST_TEST(run("site try") == to_int(ExitCode::slurm_unreachable));
    BOOST_TEST(is_root_clean());
}

BOOST_AUTO_TEST_SUITE_END()
