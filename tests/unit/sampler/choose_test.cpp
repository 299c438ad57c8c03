// The sequence of decisions: recorded before they act, each made from all before it.
#include <det/foundation/files.hpp>
#include <det/protocol/json.hpp>
#include <det/sampler/choose.hpp>
#include <det/sampler/decision_log.hpp>
#include <det/sampler/load_draw.hpp>

#include <boost/test/unit_test.hpp>

#include "check_result.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::sampler;

namespace sampler_choose {

struct Fixture {
    TemporaryDirectory root;
    ExperimentLayout experiment{RootLayout(root.path()), {7}};
    ExperimentSpec spec;
    std::vector<std::string> requests;
    std::function<std::string()> answer = [this] { return chosen(static_cast<int>(requests.size())); };

    Fixture() {
        must(make_directories(experiment.path()));
        spec.searcher = {"custom", "loss", true,
                         Json{{"max_trials", 9}, {"command", "x"}, {"unit", "epochs"}}};
        spec.hyperparameters = parse_json(R"({"n": {"type": "int", "minval": 0, "maxval": 100}, "c": "k"})");
        spec.trial_count = 9;
        spec.id = {7};
    }
    static std::string chosen(int n) {
        return R"({"sampler": 1, "hyperparameters": {"n": )" + std::to_string(n) + "}}";
    }
    Asker asker() {
        return {experiment, spec, "123_0", [] { return UtcTime{5}; },
                [this](std::string const& request) -> Result<std::string> {
                    requests.push_back(request);
                    return answer();
                }};
    }
    Json choose(std::uint32_t trial) {
        auto const decision = must(choose_hyperparameters(asker(), trial)).decision;
        return decision.answer.hyperparameters ? **decision.answer.hyperparameters : Json();
    }
    std::size_t recorded() const { return must(load_decisions(experiment)).all.size(); }
};

}  // namespace sampler_choose

BOOST_FIXTURE_TEST_SUITE(sampler_choose, sampler_choose::Fixture)

BOOST_AUTO_TEST_CASE(a_trial_that_begins_again_has_the_same_hyperparameters) {
    BOOST_TEST(choose(3).at("n") == 1);
    BOOST_TEST(choose(3).at("n") == 1);
    BOOST_TEST(choose(0).at("n") == 2);
    BOOST_TEST(requests.size() == 2u);
    auto const draw = must(load_draw(experiment, spec, 3));
    BOOST_TEST((draw.hyperparameters == parse_json(R"({"c": "k", "n": 1})")));
    BOOST_TEST((must(load_draw(experiment, spec, 5)).hyperparameters == parse_json(R"({"c": "k"})")));
    auto const draws = must(load_draws(experiment, spec, 9));
    BOOST_TEST(draws.size() == 9u);
    BOOST_TEST(draws[0].hyperparameters->at("n") == 2);
    BOOST_TEST(draws[3].seed == draw.seed);
    BOOST_TEST(draws[3].seed != draws[0].seed);
}

BOOST_AUTO_TEST_CASE(a_request_tells_the_search_and_its_trials) {
    choose(3);
    choose(0);
    BOOST_TEST(requests[1] ==
               R"({"experiment":7,"hyperparameters":{"c":"k","n":{"maxval":100,"minval":0,"type":"int"}},)"
               R"("max_trials":9,"sampler":1,"searcher":{"command":"x","max_trials":9,"metric":"loss",)"
               R"("name":"custom","smaller_is_better":true,"unit":"epochs"},"seed":0})"
               "\n"
               R"({"hyperparameters":{"c":"k","n":1},"last_validation":{},"metric":null,"state":"running",)"
               R"("trial":3,"validations":[]})"
               "\n"
               R"({"question":"begin","trial":0})"
               "\n");
}

BOOST_AUTO_TEST_CASE(a_decision_that_another_process_records_meanwhile_is_seen_by_the_next_question) {
    bool is_first = true;
    answer = [&] {
        if (std::exchange(is_first, false)) {
            Decision other{UtcTime{1}, "123_8", Question::begin, 8, {JsonValue(Json{{"n", 77}})}};
            BOOST_TEST(must(record_decision(experiment, {}, other)));
        }
        return chosen(40 + static_cast<int>(requests.size()));
    };
    BOOST_TEST(choose(3).at("n") == 42);  // the answer 41 was made without the other decision
    BOOST_TEST(requests.size() == 2u);
    BOOST_TEST(requests[1].find(R"("n":77)") != std::string::npos);
    BOOST_TEST(recorded() == 2u);
}

BOOST_AUTO_TEST_CASE(of_two_processes_with_the_same_trial_one_decides) {
    bool is_first = true;
    answer = [&] {
        if (std::exchange(is_first, false)) choose(3);  // this incarnation was thought to be dead
        return chosen(static_cast<int>(requests.size()));
    };
    BOOST_TEST(choose(3).at("n") == 2);
    BOOST_TEST(recorded() == 1u);
}

BOOST_AUTO_TEST_CASE(after_stop_no_trial_begins_and_the_sampler_is_not_asked) {
    choose(0);
    answer = [] { return R"({"sampler": 1, "stop": "good enough"})"; };
    BOOST_TEST(choose(1).is_null());
    BOOST_TEST(choose(2).is_null());
    BOOST_TEST(requests.size() == 2u);
    BOOST_TEST(choose(0).at("n") == 1);  // it has begun before, and may begin again
    BOOST_TEST(*must(load_decisions(experiment)).find_stop() == "good enough");
}

BOOST_AUTO_TEST_CASE(a_trial_that_is_pruned_before_it_begins_is_known_as_pruned) {
    answer = [this] {
        return R"({"sampler": 1, "hyperparameters": {"n": 1}, "prune": [)" +
               std::string(requests.size() == 1 ? "0, 2" : "2") + "]}";
    };
    BOOST_TEST(must(choose_hyperparameters(asker(), 0)).is_pruned);   // by its own answer
    BOOST_TEST(!must(choose_hyperparameters(asker(), 1)).is_pruned);  // names 2 again
    BOOST_TEST(must(choose_hyperparameters(asker(), 2)).is_pruned);
    BOOST_TEST(must(load_decisions(experiment)).all[1].answer.prune.empty());
}

BOOST_AUTO_TEST_CASE(a_sampler_is_asked_again_as_often_as_the_caller_says) {
    auto failing = asker();
    int failures = 0;
    failing.tries_again = [&](Error const& error) {
        BOOST_TEST((error.code == codes::bad_value));
        return ++failures < 3;
    };
    answer = [] { return "nonsense"; };
    must_fail(choose_hyperparameters(failing, 0));
    BOOST_TEST(failures == 3);
    BOOST_TEST(requests.size() == 3u);
}

BOOST_AUTO_TEST_CASE(a_process_waits_on_while_others_decide_and_asks_when_they_stop) {
    auto waiting = asker();
    int waits = 0;
    waiting.wait_for_turn = [&] {  // in vain
        if (++waits <= 3) {
            Decision const other{UtcTime{1},
                                 "123_8",
                                 Question::begin,
                                 3u + static_cast<std::uint32_t>(waits),
                                 {JsonValue(Json{{"n", 7}})}};
            BOOST_TEST(must(record_decision(experiment, must(load_decisions(experiment)), other)));
        }
        return true;
    };
    must(choose_hyperparameters(waiting, 0));
    BOOST_TEST(waits == 4);
    BOOST_TEST(requests.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_wrong_answer_is_not_recorded) {
    answer = [] { return R"({"sampler": 1, "hyperparameters": {"n": 101}})"; };
    BOOST_TEST((must_fail(choose_hyperparameters(asker(), 0)).code == codes::bad_value));
    BOOST_TEST(recorded() == 0u);
}

BOOST_AUTO_TEST_CASE(a_missing_or_damaged_decision_is_an_error) {
    choose(0);
    choose(1);
    auto const directory = sampler_directory(experiment) / "decisions";
    auto const text = must(read_file(directory / "0"));
    must(write_file(directory / "0", text.substr(0, text.size() / 2)));
    BOOST_TEST((must_fail(load_decisions(experiment)).code == codes::damaged));
    must(remove_tree(directory / "0"));
    BOOST_TEST((must_fail(load_decisions(experiment)).code == codes::damaged));
}

BOOST_AUTO_TEST_CASE(a_prune_is_found_without_the_other_decisions_once_it_is_recorded) {
    choose(0);
    choose(1);
    BOOST_TEST(!must(find_prune(experiment, 1)));
    // Another process was faster: what this one has announced is not recorded under its number.
    Decision const late{UtcTime{6}, "123_1", Question::report, 0, {{}, {}, {1}}};
    BOOST_TEST(!must(record_decision(experiment, {{must(load_decisions(experiment)).all.front()}}, late)));
    BOOST_TEST(!must(find_prune(experiment, 1)));
    BOOST_TEST(must(record_decision(experiment, must(load_decisions(experiment)), late)));
    std::filesystem::remove(sampler_directory(experiment) / "decisions/0");  // it is not needed
    auto const found = must(find_prune(experiment, 1));
    BOOST_REQUIRE(found);
    BOOST_TEST(found->job == "123_1");
    BOOST_TEST(!must(find_prune(experiment, 0)));
}

BOOST_AUTO_TEST_SUITE_END()
