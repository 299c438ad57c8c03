#include "config_support.hpp"
#include "golden.hpp"

using namespace det;
using namespace det::config;

namespace override_test {

/// The configuration with one --config over it.
std::string overridden(std::string_view assignment, std::string_view config) {
    return json(must(merge_layers({must(parse_override(assignment)), Layer{layer(config)}})));
}

std::string value_of(std::string_view assignment) {
    auto node = must(parse_override(assignment)).document;
    while (node.entries().size() == 1 && node.entries()[0].value.is_map()) node = node.entries()[0].value;
    return json(node);
}

}  // namespace override_test

BOOST_AUTO_TEST_SUITE(override_test)

BOOST_AUTO_TEST_CASE(an_override_replaces_the_value_at_its_path) {
    BOOST_TEST(overridden("resources.slots_per_trial=16", "resources: {slots_per_trial: 4, priority: 1}") ==
               R"({"resources":{"priority":1,"slots_per_trial":16}})");
    BOOST_TEST(overridden("slurm.sbatch_args=[--mem=8G]", "slurm: {sbatch_args: [--exclusive]}") ==
               R"({"slurm":{"sbatch_args":["--mem=8G"]}})");
    BOOST_TEST(overridden("hyperparameters.lr.maxval=2",
                          "hyperparameters: {lr: {type: int, minval: 0, maxval: 1}}") ==
               R"({"hyperparameters":{"lr":{"maxval":2,"minval":0,"type":"int"}}})");
    BOOST_TEST(overridden("data.a.b.c=1", "data: {a: ~}") == R"({"data":{"a":{"b":{"c":1}}}})");
    BOOST_TEST(overridden("searcher.name=random", "searcher: {name: single, metric: m}") ==
               R"({"searcher":{"metric":"m","name":"random"}})");
}

BOOST_AUTO_TEST_CASE(an_override_of_nothing_takes_the_value_away) {
    BOOST_TEST(overridden("description=", "description: x\nname: y\n") == R"({"name":"y"})");
    BOOST_TEST(overridden("resources.max_slots=null", "resources: {max_slots: 4}") == R"({"resources":{}})");
}

BOOST_AUTO_TEST_CASE(an_override_reaches_a_value_that_is_written_in_another_form) {
    BOOST_TEST(overridden("environment.image.gpu=new", "environment: {image: old}") ==
               R"({"environment":{"image":{"cpu":"old","cuda":"new","rocm":"old"}}})");
    BOOST_TEST(overridden("environment.environment_variables=A=1",
                          "environment: {environment_variables: {cpu: [B=2]}}") ==
               R"({"environment":{"environment_variables":{"cpu":["A=1"],"cuda":["A=1"],"rocm":["A=1"]}}})");
}

BOOST_AUTO_TEST_CASE(a_value_takes_the_type_that_belongs_there) {
    BOOST_TEST(value_of("max_restarts=3") == R"({"max_restarts":3})");
    BOOST_TEST(value_of("debug=true") == R"({"debug":true})");
    BOOST_TEST(value_of("name=5") == R"({"name":"5"})");
    BOOST_TEST(value_of("name='5'") == R"({"name":"5"})");
    BOOST_TEST(value_of("description=note: this, #1") == R"({"description":"note: this, #1"})");
    BOOST_TEST(value_of("entrypoint=python3 train.py --a=b,c") ==
               R"({"entrypoint":"python3 train.py --a=b,c"})");
    BOOST_TEST(value_of("entrypoint=[python3, train.py]") == R"({"entrypoint":["python3","train.py"]})");
    BOOST_TEST(value_of("labels=a,b") == R"({"labels":["a","b"]})");
    BOOST_TEST(value_of("slurm.sbatch_args=--mem=8G,--time=10") ==
               R"({"sbatch_args":["--mem=8G","--time=10"]})");
    BOOST_TEST(value_of("hyperparameters.lr=1e-3") == R"({"lr":0.001})");
    BOOST_TEST(value_of("hyperparameters.layers={type: int, minval: 1, maxval: 3}") ==
               R"({"maxval":3,"minval":1,"type":"int"})");
    BOOST_TEST(value_of("searcher.max_length=100") == R"({"max_length":100})");
    BOOST_TEST(value_of("searcher.max_length.batches=100") == R"({"batches":100})");
    BOOST_TEST(value_of("data.x=1,two") == R"({"x":[1,"two"]})");
    BOOST_TEST(value_of("data.when=yes") == R"({"when":"yes"})");
}

BOOST_AUTO_TEST_CASE(mistakes_in_an_override_are_shown_in_it) {
    std::string told;
    for (std::string_view const written : {"max_restarts", "=5", "a..b=1", " a=1"}) {
        auto const error = must_fail(parse_override(written));
        BOOST_TEST(to_int(error.code.exit) == 2);
        told += explain(error);
    }
    told += explain(must_fail(parse_override("labels=[a, b")));
    for (std::string_view const written : {"resources.slot_per_trial=8", "resources.slots_per_trial=many",
                                           "resources.slots_per_trial=-1", "searcher.name=randon"}) {
        told += explain(check_sanity(must(parse_override(written)).document));
    }
    told += explain(
        must_fail(merge_layers({must(parse_override("data.path.x=1")), Layer{layer("data: {path: /a}")}})));
    check_golden("config/override_mistakes.txt", told);
}

BOOST_AUTO_TEST_CASE(a_path_without_end_is_refused) {
    std::string path = "data";
    for (int i = 0; i < 60'000; ++i) path += ".a";
    BOOST_TEST(to_int(must_fail(parse_override(path + "=1")).code.exit) == 2);
}

BOOST_AUTO_TEST_CASE(the_highest_of_several_overrides_wins) {
    auto const result =
        must(merge_layers({must(parse_override("max_restarts=2")), must(parse_override("max_restarts=1")),
                           Layer{layer("max_restarts: 0")}}));
    BOOST_TEST(json(result) == R"({"max_restarts":2})");
}

BOOST_AUTO_TEST_SUITE_END()
