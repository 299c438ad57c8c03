#include <det/protocol/nested_step.hpp>
#include <det/protocol/step_run.hpp>

#include <boost/test/unit_test.hpp>
#include <map>

#include "check_result.hpp"

using namespace det;

namespace srun_arguments_test {

using Variables = std::map<std::string, std::string, std::less<>>;

VariableLookup lookup_in(Variables variables) {
    return [variables = std::move(variables)](std::string_view name) -> std::optional<std::string> {
        auto const found = variables.find(name);
        return found == variables.end() ? std::nullopt : std::optional(found->second);
    };
}

SrunArguments parse(std::vector<std::string> const& words, Variables variables = {}) {
    return parse_srun_arguments(words, lookup_in(std::move(variables)));
}

/// The environment of a task on n1, in a run on n0 and n1.
Variables task_on_n1() {
    return {{"DET_RUN_PATH", "/det/experiments/7/trials/0/runs/1"},
            {"DET_RUN_JOB", "12"},
            {"SLURM_JOB_ID", "12"},
            {"DET_RUN_HOSTS", "n[0-1]"},
            {"DET_AGENT_ID", "n1"}};
}

bool is_refused(NestedStep const& step, Variables const& caller) {
    return !check_nested_step(step, lookup_in(caller));
}

}  // namespace srun_arguments_test

BOOST_AUTO_TEST_SUITE(srun_arguments_test)

BOOST_AUTO_TEST_CASE(options_are_found_in_each_spelling_of_srun) {
    for (auto const& words : {std::vector<std::string>{"-N2", "-o", "out", "-n", "4", "train", "-o", "x"},
                              {"--nodes=2", "--output=out", "--ntasks=4", "train", "-o", "x"},
                              {"--nodes", "2", "--output", "out", "-vn4", "train", "-o", "x"},
                              {"--overlap", "-lK1", "-N", "2", "-oout", "-n4", "--", "train", "-o", "x"}}) {
        auto const found = parse(words);
        BOOST_TEST(found.nodes.value_or("") == "2");
        BOOST_TEST(found.output.value_or("") == "out");
        BOOST_TEST(found.tasks.value_or("") == "4");
        BOOST_TEST(found.command == (std::vector<std::string>{"train", "-o", "x"}),
                   boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(a_value_that_looks_like_a_command_belongs_to_its_option) {
    auto const found = parse({"--gres", "gpu:2", "--det", "--no-container-mount-home", "--container-image",
                              "x", "--cpu-bind", "none", "train", "--nodes", "9"});
    BOOST_TEST(!found.nodes.has_value());
    BOOST_REQUIRE(!found.command.empty());
    BOOST_TEST(found.command.front() == "train");
}

BOOST_AUTO_TEST_CASE(variables_apply_where_no_option_is_given) {
    Variables const variables{{"SLURM_NNODES", "3"}, {"SLURM_STDOUTMODE", "log"}};
    BOOST_TEST(parse({"train"}, variables).nodes.value_or("") == "3");
    BOOST_TEST(parse({"-N1", "train"}, variables).nodes.value_or("") == "1");
    BOOST_TEST(parse({"train"}, variables).output.value_or("") == "log");
}

BOOST_AUTO_TEST_CASE(all_none_and_a_task_name_no_file) {
    for (auto const* value : {"", "all", "none", "0", "12"}) BOOST_TEST(!names_output_file(value), value);
    for (auto const* value : {"out", "out-%t", "/dev/null", "0.log"})
        BOOST_TEST(names_output_file(value), value);
}

BOOST_AUTO_TEST_CASE(the_nodes_of_a_step_are_counted) {
    BOOST_TEST(count_step_nodes(parse({"train"})) == 1);
    BOOST_TEST(count_step_nodes(parse({"-N2-4", "train"})) == 2);
    BOOST_TEST(count_step_nodes(parse({"-w", "n[0-2]", "train"})) == 3);
    BOOST_TEST(count_step_nodes(parse({"train"}, {{"SLURM_NNODES", "4"}})) == 4);
    BOOST_TEST(count_step_nodes(parse({"-n1", "train"}, {{"SLURM_NNODES", "4"}})) == 1);
}

BOOST_AUTO_TEST_CASE(a_step_over_all_nodes_is_refused_on_every_node_but_the_first) {
    auto const caller = task_on_n1();
    BOOST_TEST(is_refused({2, "python"}, caller));
    BOOST_TEST(!is_refused({1, "python"}, caller));
    auto on_first = caller;
    on_first["DET_AGENT_ID"] = "n0";
    BOOST_TEST(!is_refused({2, "python"}, on_first));
    auto of_script = caller;  // of a user's own script: nothing starts its steps a second time
    of_script.erase("DET_RUN_PATH");
    BOOST_TEST(!is_refused({2, "python"}, of_script));
    auto in_other_job = caller;
    in_other_job["SLURM_JOB_ID"] = "13";
    BOOST_TEST(!is_refused({2, "python"}, in_other_job));
}

BOOST_AUTO_TEST_CASE(the_daemons_of_mpirun_are_on_all_nodes_but_its_own) {
    BOOST_TEST(is_refused({1, "/usr/bin/orted"}, task_on_n1()));
    auto of_three = task_on_n1();
    of_three["DET_RUN_HOSTS"] = "n[0-2]";
    BOOST_TEST(is_refused({2, "orted"}, of_three));
    BOOST_TEST(!is_refused({1, "orted"}, of_three));
    BOOST_TEST(!is_refused({2, "python"}, of_three));
}

BOOST_AUTO_TEST_CASE(a_refusal_says_where_the_step_may_start) {
    auto const error = must_fail(check_nested_step({2, "python"}, lookup_in(task_on_n1())));
    BOOST_TEST(error.message ==
               "a step over all 2 nodes of this run is refused on node n1: the entrypoint runs once on each "
               "node, so node n0 starts the step too");
    BOOST_TEST(error.hint.find("only where $DET_AGENT_ID is n0") != std::string::npos, error.hint);
}

BOOST_AUTO_TEST_CASE(the_labelled_streams_survive_their_variable) {
    for (auto const streams : {LabelledStreams{true, true}, {true, false}, {false, true}, {false, false}})
        BOOST_TEST((parse_labelled_streams(to_string(streams)) == streams));
    BOOST_TEST((parse_labelled_streams("") == LabelledStreams{true, true}));
}

BOOST_AUTO_TEST_SUITE_END()
