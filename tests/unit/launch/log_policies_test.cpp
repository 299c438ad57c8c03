#include "log_policies.hpp"

#include <det/foundation/files.hpp>

#include <boost/test/unit_test.hpp>

#include "check_result.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::launch::supervisor;

namespace log_policies_test {

struct Fixture {
    TemporaryDirectory directory;
    RunLayout run{directory.path()};

    PolicyMatches match(std::vector<LogPolicySpec> const& policies) {
        return must(match_log_policies(policies, run, 3));
    }
};

}  // namespace log_policies_test

BOOST_FIXTURE_TEST_SUITE(log_policies_test, Fixture)

BOOST_AUTO_TEST_CASE(each_node_with_a_matching_line_is_named) {
    must(write_file(run.node_log(0), "t [rank=0] well\n"));
    must(write_file(run.node_log(1), "t [rank=1] uncorrectable ECC error encountered\nt again ECC error"));
    must(write_file(run.node_log(2), "t [rank=2] ECC error without an end of line"));
    auto const found = match({{"ECC", "ECC error", LogAction::exclude_node}});
    BOOST_TEST(found.bad_nodes == (std::vector<int>{1, 2}), boost::test_tools::per_element());
    BOOST_TEST(found.bad_nodes_policy == "ECC");
    BOOST_TEST(found.cancel_retries_policy.empty());
}

BOOST_AUTO_TEST_CASE(a_policy_without_an_action_is_a_label_once) {
    must(write_file(run.node_log(0), "ECC error\n"));
    must(write_file(run.node_log(1), "ECC error\n"));
    auto const found = match({{"ECC", "ECC error", LogAction::label}, {"OOM", "memory", LogAction::label}});
    BOOST_TEST(found.labels == std::vector<std::string>{"ECC"}, boost::test_tools::per_element());
    BOOST_TEST(found.bad_nodes.empty());
    BOOST_TEST(found.cancel_retries_policy.empty());
}

BOOST_AUTO_TEST_CASE(a_pattern_is_matched_line_by_line_in_any_bytes) {
    std::string text("a\0CUDA\xff out of\nmemory\n", 23);
    text += std::string(3 << 20, 'x') + "\nCUDA out of memory\n";
    must(write_file(run.node_log(0), text));
    BOOST_TEST(match({{"OOM", "CUDA out of memory", LogAction::cancel_retries}}).cancel_retries_policy ==
               "OOM");
    BOOST_TEST(match({{"two", "of.memory$", LogAction::cancel_retries}}).cancel_retries_policy == "two");
    BOOST_TEST(
        match({{"split", "out of\\smemory x", LogAction::cancel_retries}}).cancel_retries_policy.empty());
}

BOOST_AUTO_TEST_CASE(a_pathological_expression_takes_linear_time) {
    must(write_file(run.node_log(0), std::string(60'000, 'a') + "!\n"));
    BOOST_TEST(match({{"evil", "(a+)+$", LogAction::cancel_retries}}).cancel_retries_policy.empty());
}

BOOST_AUTO_TEST_CASE(an_invalid_expression_is_an_error) {
    must(write_file(run.node_log(0), "x\n"));
    auto const error = must_fail(match_log_policies({{"bad", "(", LogAction::exclude_node}}, run, 1));
    BOOST_TEST((error.code == codes::bad_value));
    BOOST_TEST(must(match_log_policies({}, run, 1)).bad_nodes.empty());
}

BOOST_AUTO_TEST_SUITE_END()
