#include <det/protocol/json.hpp>

#include <chrono>
#include <set>

#include "search_support.hpp"

using namespace det;
using namespace det::search;

namespace random_search_test {

constexpr char mixed[] = R"({
    "lr": {"type": "log", "base": 10, "minval": -4, "maxval": -1},
    "batch": {"type": "int", "minval": 16, "maxval": 128},
    "opt": {"name": {"type": "categorical", "vals": ["adam", "sgd", ["x", 1]]},
            "momentum": {"type": "double", "minval": 0.5, "maxval": 0.99}},
    "Fixed": {"type": "const", "val": [1, 2]}, "plain": 7})";

Search random_of(std::uint64_t trials, std::string const& hyperparameters, std::uint32_t seed = 42) {
    return search_of(Json{{"name", "random"}, {"max_trials", trials}}.dump(), hyperparameters, seed);
}

}  // namespace random_search_test

BOOST_AUTO_TEST_SUITE(random_search_test)

BOOST_AUTO_TEST_CASE(draws_are_those_that_determined_makes) {
    // Computed by a second implementation of numpy's generator and of Determined's order.
    struct Row {
        std::uint32_t trial;
        int batch;
        double lr, momentum;
        char const* name;
        std::uint32_t seed;
    };
    auto const search = random_of(1000, mixed);
    for (auto const& row : std::initializer_list<Row>{
             {0, 118, 0.024526126311336768, 0.5898830470344203, R"("adam")", 429389014},
             {1, 90, 0.0023864188780056057, 0.6635172194581207, R"(["x", 1])", 1427830251},
             {2, 45, 0.0004335281794951561, 0.5890942339314793, R"("adam")", 30349564},
             {999, 37, 0.0004877311644127398, 0.6069685247876411, R"(["x", 1])", 739582553}}) {
        auto const draw = search.draw(row.trial);
        auto point = *draw.hyperparameters;
        BOOST_TEST(point["lr"].get<double>() == row.lr, boost::test_tools::tolerance(1e-15));
        point.erase("lr");
        Json const opt{{"name", parse_json(row.name)}, {"momentum", row.momentum}};
        BOOST_TEST((point == Json{{"batch", row.batch}, {"opt", opt}, {"Fixed", {1, 2}}, {"plain", 7}}),
                   point);
        BOOST_TEST(draw.seed == row.seed);
    }
}

BOOST_AUTO_TEST_CASE(a_draw_is_the_same_however_many_there_are) {
    auto const all = random_of(50, mixed).draw_first(50);
    BOOST_TEST(all.size() == 50u);
    for (std::uint32_t count = 1; count <= 50; count += 7) {
        auto const search = random_of(count, mixed);
        BOOST_TEST(search.draw_first(1000).size() == count);
        for (std::uint32_t index = 0; index < count; ++index)
            BOOST_TEST((search.draw(index) == all[index]), index);
    }
}

BOOST_AUTO_TEST_CASE(another_seed_draws_other_trials) {
    BOOST_TEST(!(random_of(1, mixed, 1).draw(0) == random_of(1, mixed, 2).draw(0)));
}

BOOST_AUTO_TEST_CASE(a_single_trial_is_the_first_of_a_random_search) {
    auto const single = search_of(R"({"name": "single"})", mixed);
    BOOST_TEST(single.trial_count() == 1u);
    BOOST_TEST((single.draw(0) == random_of(9, mixed).draw(0)));
}

BOOST_AUTO_TEST_CASE(values_lie_in_their_ranges) {
    auto const search = random_of(2000, R"({"i": {"type": "int", "minval": -1, "maxval": 1},
        "wide": {"type": "int", "minval": -9223372036854775808, "maxval": 9223372036854775807},
        "d": {"type": "double", "minval": -2, "maxval": 3},
        "l": {"type": "log", "minval": -1, "maxval": 1, "base": 2}})");
    std::set<int> integers;
    bool is_below_zero = false, is_above_zero = false;
    for (auto const& point : points_of(search)) {
        integers.insert(point["i"].get<int>());
        auto const wide = point["wide"].get<std::int64_t>();
        (wide < 0 ? is_below_zero : is_above_zero) = true;
        auto const d = point["d"].get<double>();
        auto const l = point["l"].get<double>();
        BOOST_REQUIRE((d >= -2 && d < 3 && l >= 0.5 && l < 2));
    }
    BOOST_TEST((integers == std::set<int>{-1, 0, 1}));
    BOOST_TEST((is_below_zero && is_above_zero));
}

BOOST_AUTO_TEST_CASE(max_concurrent_trials_limits_running_trials) {
    auto const common_notice_rule = [](std::string const& limit) {
        return search_of(R"({"name": "random", "max_trials": 20)" + limit + "}", "{}")
            .concurrent_trials_max();
    };
    BOOST_TEST(common_notice_rule(R"(, "max_concurrent_trials": 16)") == 16u);
    BOOST_TEST(common_notice_rule(R"(, "max_concurrent_trials": 0)") == 20u);
    BOOST_TEST(common_notice_rule(R"(, "max_concurrent_trials": 9000000000000000000)") == 20u);
    BOOST_TEST(common_notice_rule("") == 20u);
}

BOOST_AUTO_TEST_CASE(max_trials_is_required_and_limited) {
    BOOST_TEST(random_of(1'000'000, "{}").trial_count() == 1'000'000u);
    auto const many = refusals_of(R"({"name": "random", "max_trials": 1000001})", "{}");
    BOOST_TEST(many.at(0).path == "searcher.max_trials");
    BOOST_TEST(many.at(0).error.message.find("1000001") != std::string::npos);
    for (auto const* missing : {R"({"name": "random"})", R"({"name": "random", "max_trials": 0})",
                                R"({"name": "random", "max_trials": -3})",
                                R"({"name": "random", "max_trials": 18446744073709551615})",
                                R"({"name": "random", "max_trials": "many"})"})
        BOOST_TEST(refusals_of(missing, "{}").at(0).path == "searcher.max_trials");
}

BOOST_AUTO_TEST_CASE(the_thousandth_trial_is_drawn_fast) {
    auto const search = random_of(1000, mixed);
    auto fastest = std::chrono::steady_clock::duration::max();
    for (int i = 0; i < 5; ++i) {
        auto const before = std::chrono::steady_clock::now();
        (void)search.draw(999);
        fastest = std::min(fastest, std::chrono::steady_clock::now() - before);
    }
    BOOST_TEST_MESSAGE("draw of trial 999: "
                       << std::chrono::duration_cast<std::chrono::microseconds>(fastest).count() << " us");
    BOOST_TEST((fastest < std::chrono::milliseconds(10)));
}

BOOST_AUTO_TEST_SUITE_END()
