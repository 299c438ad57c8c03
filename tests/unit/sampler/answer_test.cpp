// What a sampler may answer.
#include <det/protocol/json.hpp>
#include <det/sampler/answer.hpp>

#include <boost/test/unit_test.hpp>

#include "check_result.hpp"

using namespace det;
using namespace det::sampler;

namespace sampler_answer {

search::Space space() {
    auto space = search::parse_space(parse_json(R"({
        "lr": {"type": "log", "base": 10, "minval": -4, "maxval": -1},
        "width": {"type": "int", "minval": 8, "maxval": 64},
        "opt": {"name": {"type": "categorical", "vals": ["sgd", "adam"]},
                "momentum": {"type": "double", "minval": 0, "maxval": 1}},
        "steps": 16})"));
    BOOST_REQUIRE(space.has_value());
    return *space;
}

Answer answer_of(std::string const& line, Question question = Question::begin) {
    return must(parse_answer(line, question, space()));
}
std::string refusal_of(std::string const& line, Question question = Question::begin) {
    return must_fail(parse_answer(line, question, space())).message;
}
/// An answer with these values, the others as they should be.
std::string with(std::string const& changes) {
    auto chosen = parse_json(R"({"lr": 0.01, "width": 16, "opt": {"name": "sgd", "momentum": 0.5}})");
    chosen.merge_patch(parse_json(changes));
    return to_line(Json{{"sampler", 1}, {"hyperparameters", chosen}});
}

}  // namespace sampler_answer

BOOST_AUTO_TEST_SUITE(sampler_answer)

BOOST_AUTO_TEST_CASE(constants_are_added_and_other_names_stay) {
    auto const answer = answer_of(with(R"({"mine": [1]})") + "\n");
    BOOST_TEST((*answer.hyperparameters ==
                parse_json(R"({"lr": 0.01, "width": 16, "opt": {"name": "sgd", "momentum": 0.5},
                               "steps": 16, "mine": [1]})")));
    BOOST_TEST(!answer.stop);
    BOOST_TEST(answer.prune.empty());
}

BOOST_AUTO_TEST_CASE(the_ends_of_ranges_belong_to_them) {
    answer_of(with(R"({"lr": 0.0001, "width": 8})"));
    answer_of(with(R"({"lr": 0.1, "width": 64, "opt": {"momentum": 1}})"));
}

BOOST_AUTO_TEST_CASE(values_outside_of_the_configured_ranges_are_refused) {
    for (auto const* changes :
         {R"({"lr": 0.2})", R"({"lr": "0.01"})", R"({"lr": null})", R"({"width": 65})", R"({"width": 16.5})",
          R"({"width": 18446744073709551615})", R"({"opt": {"name": "sdg"}})",
          R"({"opt": {"momentum": -0.1}})", R"({"opt": {"momentum": null}})", R"({"opt": 5})",
          R"({"steps": 17})", R"({"width": true})"}) {
        BOOST_TEST(refusal_of(with(changes)).starts_with("the sampler's answer is wrong: "), changes);
    }
    BOOST_TEST(refusal_of(with(R"({"width": 65})")) ==
               "the sampler's answer is wrong: hyperparameter 'width' can't be '65'");
    BOOST_TEST(refusal_of(with(R"({"opt": {"name": null}})")) ==
               "the sampler's answer is wrong: it has no hyperparameter 'opt.name'");
}

BOOST_AUTO_TEST_CASE(a_value_in_place_of_a_group_of_constants_is_refused) {
    auto const constants = search::parse_space(parse_json(R"({"opt": {"sub": {"x": 3}}})"));
    BOOST_REQUIRE(constants.has_value());
    auto const parse = [&](std::string const& chosen) {
        return parse_answer(R"({"sampler": 1, "hyperparameters": )" + chosen + "}", Question::begin,
                            *constants);
    };
    for (auto const* chosen : {R"({"opt": 5})", R"({"opt": [1]})", R"({"opt": null})",
                               R"({"opt": {"sub": "x"}})", R"({"opt": {"sub": null}})"}) {
        BOOST_TEST(must_fail(parse(chosen)).message ==
                       "the sampler's answer is wrong: hyperparameter 'opt.sub.x' has no place in its values",
                   chosen);
    }
    auto const whole = parse_json(R"({"opt": {"sub": {"x": 3}}})");
    BOOST_TEST((*must(parse("{}")).hyperparameters == whole));
    BOOST_TEST((*must(parse(R"({"opt": {}})")).hyperparameters == whole));
}

BOOST_AUTO_TEST_CASE(an_answer_that_is_nested_deeply_is_refused_before_it_is_parsed) {
    auto const noted = [](std::size_t depth, std::string const& inside) {
        return R"({"sampler": 1, "stop": "x", "note": )" + std::string(depth, '[') + inside +
               std::string(depth, ']') + "}";
    };
    for (auto const depth : {std::size_t{100}, std::size_t{1000}, std::size_t{500'000}})
        BOOST_TEST(refusal_of(noted(depth, "1")) ==
                   "the sampler's answer is wrong: it is nested more than 100 levels deep");
    answer_of(noted(99, "1"));
    answer_of(noted(0, R"(["\"[", ")" + std::string(1000, '[') + "\"]"));
}

BOOST_AUTO_TEST_CASE(a_search_ends_with_a_reason) {
    auto const answer = answer_of(R"({"sampler": 1, "stop": "good enough", "prune": [3, 4]})");
    BOOST_TEST(answer.stop.value() == "good enough");
    BOOST_TEST((answer.prune == std::vector<std::uint32_t>{3, 4}));
    BOOST_TEST(!answer.hyperparameters);
}

BOOST_AUTO_TEST_CASE(a_report_prunes_or_does_nothing) {
    BOOST_TEST(answer_of(R"({"sampler": 1})", Question::report).prune.empty());
    BOOST_TEST((answer_of(R"({"sampler": 1, "prune": [7]})", Question::report).prune ==
                std::vector<std::uint32_t>{7}));
    refusal_of(R"({"sampler": 1, "stop": "x"})", Question::report);
    refusal_of(with("{}"), Question::report);
}

BOOST_AUTO_TEST_CASE(nonsense_is_refused_and_shown) {
    for (auto const* line :
         {"", "\n\n", "[]", "null", "nonsense", "{", "{}", R"({"sampler": 1})", R"({"stop": "x"})",
          R"({"sampler": "1", "stop": "x"})", R"({"sampler": 1, "stop": 1})",
          R"({"sampler": 1, "hyperparameters": []})", R"({"sampler": 1, "stop": "x", "hyperparameters": {}})",
          R"({"sampler": 1, "stop": "x", "prune": 3})", R"({"sampler": 1, "stop": "x", "prune": [-3]})",
          R"({"sampler": 1, "stop": "x", "prune": [99999999999]})", "{\"sampler\": 1}\n{\"sampler\": 1}"}) {
        BOOST_TEST(refusal_of(line).starts_with("the sampler's answer is wrong: "), line);
    }
    BOOST_TEST(refusal_of("trial 1\x1b[2J") ==
               "the sampler's answer is wrong: 'trial 1\\x1b[2J' is no JSON object");
    BOOST_TEST(refusal_of(std::string(2'000'000, ' ') + std::string(2'000'000, 'a')) ==
               "the sampler's answer is wrong: it has more than 1.0 MiB");
}

BOOST_AUTO_TEST_CASE(lengths_are_read_only_if_the_sampler_sets_them) {
    std::string const line =
        R"({"sampler": 1, "lengths": {"3": 8}, "close": [2], "can_begin": 4, "state": {"k": 1}})";
    auto const read = must(parse_answer(line, Question::trained, space(), true));
    BOOST_TEST((read.lengths == std::map<std::uint32_t, std::uint64_t>{{3, 8}}));
    BOOST_TEST((read.close == std::vector<std::uint32_t>{2}));
    BOOST_TEST(read.can_begin.value_or(0) == 4u);
    BOOST_TEST((**read.state == Json{{"k", 1}}));
    for (auto const& passed_over :
         {answer_of(line, Question::trained), must(parse_answer(line, Question::report, space(), true))}) {
        BOOST_TEST(passed_over.lengths.empty());
        BOOST_TEST(passed_over.close.empty());
        BOOST_TEST(!passed_over.can_begin);
        BOOST_TEST(!passed_over.state);
    }
}

BOOST_AUTO_TEST_CASE(wrong_lengths_are_refused) {
    auto const refusal = [](std::string const& rest, Question question = Question::trained) {
        auto const line = R"({"sampler": 1, )" + rest + "}";
        return must_fail(parse_answer(line, question, space(), true)).message;
    };
    for (auto const* rest :
         {R"("lengths": [3])", R"("lengths": {"x": 3})", R"("lengths": {"-1": 3})", R"("lengths": {"0": 0})",
          R"("lengths": {"0": -3})", R"("lengths": {"0": 1.5})", R"("lengths": {"99999999999": 3})",
          R"("lengths": {"0": 18446744073709551616})", R"("close": 3)", R"("close": [-1])",
          R"("can_begin": -1)", R"("can_begin": 99999999999)", R"("can_begin": "4")", R"("wait": 1)"})
        BOOST_TEST(refusal(rest).starts_with("the sampler's answer is wrong: "), rest);
    // They would be asked without end.
    for (auto const question : {Question::trained, Question::exited})
        BOOST_TEST(refusal(R"("wait": true)", question).ends_with("has no 'wait'"));
    BOOST_TEST(refusal(R"("wait": true, "stop": "x")", Question::begin).ends_with("nor 'stop'"));
    BOOST_TEST(must(parse_answer(R"({"sampler": 1, "wait": true})", Question::begin, space(), true)).waits);
    BOOST_TEST(refusal_of(R"({"sampler": 1, "wait": true})").ends_with("has 'hyperparameters' or 'stop'"));
}

BOOST_AUTO_TEST_CASE(a_newer_protocol_is_refused) {
    auto const error = must_fail(parse_answer(R"({"sampler": 2, "stop": "x"})", Question::begin, space()));
    BOOST_TEST((error.code == codes::newer_format));
}

BOOST_AUTO_TEST_CASE(a_decision_reads_back_as_it_was) {
    Decision decision{UtcTime{1'000'000}, "123_4", Question::begin, 4,
                      answer_of(with(R"({"mine": "\u0000"})"))};
    decision.answer.note = JsonValue(Json{{"k", 1}});
    decision.answer.prune = {1};
    auto const text = render_decision(decision);
    auto const read = must(parse_decision(text));
    BOOST_TEST(render_decision(read) == text);
    BOOST_TEST(read.job == "123_4");
    auto damaged = text;
    damaged[damaged.find("0.01")] = '1';
    BOOST_TEST((must_fail(parse_decision(damaged)).code == codes::damaged));
}

BOOST_AUTO_TEST_SUITE_END()
