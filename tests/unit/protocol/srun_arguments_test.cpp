#include <det/protocol/srun_arguments.hpp>
#include <det/protocol/step_run.hpp>

#include <boost/test/unit_test.hpp>
#include <map>

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

BOOST_AUTO_TEST_CASE(the_labelled_streams_survive_their_variable) {
    for (auto const streams : {LabelledStreams{true, true}, {true, false}, {false, true}, {false, false}})
        BOOST_TEST((parse_labelled_streams(to_string(streams)) == streams));
    BOOST_TEST((parse_labelled_streams("") == LabelledStreams{true, true}));
}

BOOST_AUTO_TEST_SUITE_END()
