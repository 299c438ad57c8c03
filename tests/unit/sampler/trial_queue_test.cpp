// Which trials train next, and what the sampler is asked, if it sets lengths.
#include <det/protocol/json.hpp>
#include <det/sampler/trial_queue.hpp>

#include <boost/test/unit_test.hpp>

using namespace det;
using namespace det::sampler;

namespace sampler_trial_queue {

using Trials = std::vector<std::uint32_t>;

struct Fixture {
    SamplerState state;

    void decide(Question question, std::uint32_t trial, Answer answer) {
        state.decisions.all.push_back({UtcTime{1}, "123_0", question, trial, std::move(answer)});
    }
    void begin(std::uint32_t trial, std::uint32_t can_begin) {
        Answer answer{JsonValue(Json::object())};
        answer.lengths[trial] = 4;
        answer.can_begin = can_begin;
        decide(Question::begin, trial, std::move(answer));
        TrialReport report;
        report.trial = trial;
        report.progress = TrialProgress::running;
        state.trials.push_back(std::move(report));
    }
    void end(std::size_t trial, TrialProgress progress) {
        state.trials[trial].progress = progress;
        if (progress == TrialProgress::waiting) ++state.trials[trial].waits;
    }
    Trials ready() const { return find_trials_to_train(state, 5).ready; }
    std::vector<Request> questions() const { return find_trials_to_train(state, 5).questions; }
};

}  // namespace sampler_trial_queue

BOOST_FIXTURE_TEST_SUITE(sampler_trial_queue, sampler_trial_queue::Fixture)

using sampler_trial_queue::Trials;

BOOST_AUTO_TEST_CASE(as_many_trials_begin_as_the_sampler_says) {
    BOOST_TEST((ready() == Trials{0}));
    begin(0, 3);
    BOOST_TEST((ready() == Trials{0, 1, 2}));
    begin(2, 3);
    BOOST_TEST((ready() == Trials{0, 2, 1}));
    begin(1, 99);
    BOOST_TEST((ready() == Trials{0, 2, 1, 3, 4}));  // the experiment has no more
}

BOOST_AUTO_TEST_CASE(a_trial_that_the_user_does_not_want_leaves_its_place_to_another_one) {
    auto const but_0 = [](auto trial) { return trial != 0; };
    BOOST_TEST((find_trials_to_train(state, 5, but_0).ready == Trials{1}));
    BOOST_TEST(find_trials_to_train(state, 1, but_0).ready.empty());
}

BOOST_AUTO_TEST_CASE(each_length_is_one_question_and_one_run) {
    begin(0, 1);
    end(0, TrialProgress::waiting);
    BOOST_TEST((questions() == std::vector<Request>{{Question::trained, 0}}));
    BOOST_TEST(ready().empty());
    decide(Question::trained, 0, {});
    BOOST_TEST(questions().empty());
    BOOST_TEST(ready().empty());  // it waits for a length
    Answer longer;
    longer.lengths[0] = 8;
    decide(Question::exited, 3, longer);
    BOOST_TEST((ready() == Trials{0}));
    end(0, TrialProgress::waiting);
    BOOST_TEST((questions() == std::vector<Request>{{Question::trained, 0}}));
}

BOOST_AUTO_TEST_CASE(a_trial_that_ends_early_is_one_question_unless_it_is_closed) {
    begin(0, 1);
    for (auto const early : {TrialProgress::failed, TrialProgress::canceled, TrialProgress::invalid}) {
        end(0, early);
        BOOST_TEST((questions() == std::vector<Request>{{Question::exited, 0}}));
    }
    auto const before = state;
    decide(Question::exited, 0, {});
    BOOST_TEST(questions().empty());
    state = before;
    Answer closing;
    closing.close = {0};
    decide(Question::trained, 1, closing);
    BOOST_TEST(questions().empty());
    BOOST_TEST(ready().empty());
}

BOOST_AUTO_TEST_CASE(trials_that_are_closed_or_never_needed_end_without_a_step) {
    begin(0, 2);
    begin(1, 2);
    end(0, TrialProgress::waiting);
    Answer closing;
    closing.close = {0};
    decide(Question::report, 1, closing);
    BOOST_TEST((ready() == Trials{0, 1}));
    BOOST_TEST(questions().empty());
    decide(Question::exited, 1, {{}, "enough"});
    BOOST_TEST((ready() == Trials{0, 1, 2, 3, 4}));
    BOOST_TEST(find_trials_to_train(state, 5).is_stopped);
}

BOOST_AUTO_TEST_SUITE_END()
