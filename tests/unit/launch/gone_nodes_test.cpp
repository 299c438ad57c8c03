#include "gone_nodes.hpp"

#include <boost/test/unit_test.hpp>
#include <numeric>
#include <set>

using det::launch::supervisor::GoneNodes;
using namespace std::chrono_literals;

namespace gone_nodes_test {

struct Fixture {
    GoneNodes gone{2, 60s};
    GoneNodes::Time now{};
};

/// Thousands of nodes refuse connections.
struct ManyNodes {
    static constexpr int nodes = 5000;
    GoneNodes gone{nodes, 60s};
    GoneNodes::Time now{};
    std::vector<int> refusing = std::vector<int>(nodes);
    bool works = true;
    int questions = 0;         // about the storage
    std::vector<int> read{};   // nodes whose files were read by the last pass
    std::set<int> absent{};    // nodes without a file
    std::set<int> touching{};  // whose file changes

    ManyNodes() { std::iota(refusing.begin(), refusing.end(), 0); }
    std::optional<int> find() {
        read.clear();
        questions = 0;
        return gone.find(refusing, now,
                         {[this] { return ++questions, works; },
                          [this](int node) -> std::optional<std::int64_t> {
                              read.push_back(node);
                              if (absent.contains(node)) return std::nullopt;
                              return touching.contains(node) ? now.time_since_epoch() / 1ns : 7;
                          }});
    }
};

}  // namespace gone_nodes_test

BOOST_FIXTURE_TEST_SUITE(gone_nodes_test, Fixture)

BOOST_AUTO_TEST_CASE(the_file_must_stay_as_it_is_for_the_whole_time) {
    for (auto passed = 0s; passed < 60s; passed += GoneNodes::between_looks) {
        BOOST_TEST(gone.is_due(1, now + passed));
        BOOST_TEST(!gone.take(1, 7, now + passed), passed / 1s);
    }
    BOOST_TEST(!gone.is_due(1, now + 55s + GoneNodes::between_looks - 1ms));
    BOOST_TEST(gone.take(1, 7, now + 60s));
    BOOST_TEST(gone.is_due(0, now + 60s));
    BOOST_TEST(!gone.take(0, 7, now + 60s));
}

BOOST_AUTO_TEST_CASE(a_node_that_has_removed_its_file_has_ended_in_order) {
    for (auto passed = 0s; passed < 300s; passed += 5s) BOOST_TEST(!gone.take(1, {}, now + passed));
}

BOOST_AUTO_TEST_CASE(a_file_that_is_touched_or_could_not_be_looked_at_counts_from_zero) {
    for (auto const other : {std::optional<std::int64_t>(8), std::optional<std::int64_t>()}) {
        for (auto passed = 0s; passed < 55s; passed += 5s) BOOST_TEST(!gone.take(1, 7, now + passed));
        BOOST_TEST(!gone.take(1, other, now + 55s));
        for (auto passed = 60s; passed < 115s; passed += 5s) BOOST_TEST(!gone.take(1, 7, now + passed));
        now += 1000s;
    }
}

BOOST_AUTO_TEST_CASE(time_in_which_nobody_asked_does_not_count) {
    BOOST_TEST(!gone.take(1, 7, now));
    BOOST_TEST(!gone.take(1, 7, now + GoneNodes::gap_max));
    BOOST_TEST(!gone.take(1, 7, now + 2 * GoneNodes::gap_max + 100s));
    BOOST_TEST(!gone.take(1, 7, now + 2 * GoneNodes::gap_max + 110s));
}

BOOST_FIXTURE_TEST_CASE(of_thousands_of_refusing_nodes_a_few_files_are_read_and_one_is_enough, ManyNodes) {
    std::set<int> asked_about;
    for (auto passed = 0s; passed < 60s; passed += 5s, now += 5s) {
        BOOST_TEST(!find().has_value());
        BOOST_TEST(questions == 1);
        BOOST_TEST(read.size() == GoneNodes::looks_max);
        asked_about.insert(read.begin(), read.end());
        now += 500ms;
        BOOST_TEST(!find().has_value());
        BOOST_TEST(questions == 0);
        now -= 500ms;
    }
    BOOST_TEST(asked_about.size() == GoneNodes::looks_max);
    BOOST_TEST(find().has_value());
    BOOST_TEST(read.size() == 1u);
}

BOOST_FIXTURE_TEST_CASE(nodes_that_have_ended_or_live_make_room_for_others, ManyNodes) {
    for (int node = 0; node < 40; ++node) (node % 2 == 0 ? absent : touching).insert(node);
    std::optional<int> found;
    for (auto passed = 0s; passed < 100s && !found; passed += 1s, now += 1s) found = find();
    BOOST_REQUIRE(found.has_value());
    BOOST_TEST(*found >= 40);
    BOOST_TEST((now < GoneNodes::Time{} + 80s));
}

BOOST_FIXTURE_TEST_CASE(a_storage_that_does_not_work_is_asked_once_and_the_time_counts_from_zero, ManyNodes) {
    for (auto passed = 0s; passed < 55s; passed += 5s, now += 5s) BOOST_TEST(!find().has_value());
    auto const watched = read;
    works = false;
    BOOST_TEST(!find().has_value());
    BOOST_TEST(questions == 1);
    BOOST_TEST(read.empty());
    works = true;
    now += 5s;
    for (auto passed = 0s; passed < 60s; passed += 5s, now += 5s) BOOST_TEST(!find().has_value());
    BOOST_TEST((read == watched));
    BOOST_TEST(find().has_value());
}

BOOST_FIXTURE_TEST_CASE(a_node_that_refuses_no_more_makes_room, ManyNodes) {
    BOOST_TEST(!find().has_value());
    refusing.erase(refusing.begin(), refusing.begin() + 100);
    now += 5s;
    BOOST_TEST(!find().has_value());
    BOOST_TEST(read.size() == GoneNodes::looks_max);
    BOOST_TEST(read.front() >= 100);
}

BOOST_AUTO_TEST_SUITE_END()
