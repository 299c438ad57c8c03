#include <det/protocol/json.hpp>
#include <det/retention/gc_policy.hpp>

#include <boost/test/unit_test.hpp>

using namespace det;
using namespace det::retention;

namespace gc_policy_test {

using Names = std::set<std::string>;

/// The example of Determined's documentation.
std::vector<KnownCheckpoint> const documented{
    {"c1", 1, 1}, {"c2", 1, 2},     {"c3", 1, 3, .6}, {"c4", 1, 4, .5}, {"c5", 1, 5, .4},
    {"c6", 2, 1}, {"c7", 2, 2, .2}, {"c8", 2, 3, .3}, {"c9", 2, 4},     {"c10", 2, 5},
};

std::vector<KnownCheckpoint> const three_trials{
    {"1s10", 1, 10, .9}, {"1s20", 1, 20, .5}, {"1s30", 1, 30},
    {"2s10", 2, 10, .7}, {"2s20", 2, 20},     {"3s10", 3, 10},
};

struct Case {
    GcPolicy policy;
    Names kept;
};

}  // namespace gc_policy_test

BOOST_AUTO_TEST_SUITE(gc_policy_test)

BOOST_AUTO_TEST_CASE(the_example_of_determineds_documentation_holds) {
    Case const cases[] = {
        {{0, 0, 0}, {}},
        {{2, 0, 0}, {"c8", "c7"}},
        {{5, 0, 0}, {"c8", "c7", "c5", "c4", "c3"}},
        {{9, 0, 0}, {"c8", "c7", "c5", "c4", "c3"}},
        {{0, 1, 0}, {"c7", "c5"}},
        {{0, 3, 0}, {"c8", "c7", "c5", "c4", "c3"}},
        {{0, 0, 1}, {"c10", "c5"}},
        {{0, 0, 3}, {"c10", "c9", "c8", "c5", "c4", "c3"}},
        {{2, 1, 0}, {"c8", "c7", "c5"}},
        {{2, 0, 1}, {"c10", "c8", "c7", "c5"}},
        {{0, 1, 1}, {"c10", "c7", "c5"}},
        {{2, 1, 1}, {"c10", "c8", "c7", "c5"}},
    };
    for (auto const& [policy, kept] : cases)
        BOOST_TEST((choose_kept(policy, true, documented) == kept), to_json(policy).dump());
}

BOOST_AUTO_TEST_CASE(trials_without_a_validation_keep_their_newest) {
    Case const cases[] = {
        {{0, 1, 1}, {"1s20", "1s30", "2s10", "2s20", "3s10"}},
        {{1, 0, 0}, {"1s20"}},
        {{0, 0, 0}, {}},
        {{2, 0, 0}, {"1s20", "2s10"}},
        {{0, 2, 0}, {"1s10", "1s20", "2s10"}},
        {{0, 0, 2}, {"1s20", "1s30", "2s10", "2s20", "3s10"}},
    };
    for (auto const& [policy, kept] : cases)
        BOOST_TEST((choose_kept(policy, true, three_trials) == kept), to_json(policy).dump());
    BOOST_TEST((choose_kept({1, 0, 0}, false, three_trials) == Names{"1s10"}));
}

BOOST_AUTO_TEST_CASE(of_two_equal_checkpoints_the_earlier_stays_and_of_the_same_step_both) {
    std::vector<KnownCheckpoint> const equal{{"a", 0, 10, .5}, {"b", 0, 20, .5}, {"c", 0, 20, .7}};
    BOOST_TEST((choose_kept({1, 0, 0}, true, equal) == Names{"a"}));
    BOOST_TEST((choose_kept({0, 0, 1}, true, equal) == Names{"b", "c"}));
}

BOOST_AUTO_TEST_CASE(events_change_the_configured_policy) {
    ExperimentSpec spec;
    BOOST_TEST((policy_of(spec, {}) == GcPolicy{0, 1, 1}));
    spec.config = Json{{"checkpoint_storage", {{"save_trial_best", 3}, {"save_trial_latest", 0}}}};
    BOOST_TEST((policy_of(spec, {}) == GcPolicy{0, 3, 0}));
    Event const change{std::string(gc_policy_event), {}, "", to_json(GcPolicy{2, 1, 4})};
    Event const other{"renamed", {}, "", Json{{"save_trial_best", 9}}};
    BOOST_TEST((policy_of(spec, {change, other}) == GcPolicy{2, 1, 4}));
}

BOOST_AUTO_TEST_SUITE_END()
