#include <det/tracker/usage/usage.hpp>

#include <boost/test/unit_test.hpp>
#include <random>

using namespace det;
using namespace det::tracker::usage;

namespace divide_test {

constexpr UtcTime at(double seconds) { return {static_cast<std::int64_t>(seconds * 1e6)}; }

constexpr std::int64_t slot_s(double seconds) { return static_cast<std::int64_t>(seconds * 1e6); }

RunPhases make_run(double begun, double trained, double ended, std::uint32_t slots = 2) {
    RunPhases run;
    run.slots = slots;
    run.begun = at(begun);
    run.trained = at(trained);
    run.ended = at(ended);
    run.cause = "finished";
    run.start_cause = "first";
    return run;
}

Allocation make_allocation(double started, double ended, std::vector<RunPhases> runs,
                           std::uint32_t slots = 2) {
    Allocation allocation;
    allocation.started = at(started);
    allocation.ended = at(ended);
    allocation.slots = slots;
    allocation.runs = std::move(runs);
    return allocation;
}

Allocation random_allocation(std::mt19937& random) {
    auto const upto = [&](int most) { return std::uniform_int_distribution(0, most)(random); };
    auto const time = [&] { return UtcTime{upto(1000)}; };
    auto allocation = make_allocation(0, 0, {}, static_cast<std::uint32_t>(upto(5)));
    allocation.started = time();
    allocation.ended = time();
    for (int i = upto(4); i > 0; --i) {
        RunPhases run;
        run.slots = static_cast<std::uint32_t>(upto(4));
        run.begun = time();
        if (upto(4) > 0) run.ended = time();
        if (upto(4) > 0) run.trained = time();
        if (upto(1) > 0) run.kept_until = time();
        for (int save = upto(3); save > 0; --save) run.saves.push_back({time(), upto(300) - 20});
        run.lost_as = upto(1) > 0 ? Use::redone : Use::lost_to_node;
        run.waited_slot_us = upto(100) - 10;
        run.start_cause = "first";
        allocation.runs.push_back(run);
    }
    return allocation;
}

}  // namespace divide_test

BOOST_AUTO_TEST_SUITE(divide_test)

BOOST_AUTO_TEST_CASE(the_parts_sum_to_the_whole_whatever_the_times_are) {
    std::mt19937 random(20261124);
    for (int i = 0; i < 20'000; ++i) {
        auto const allocation = random_allocation(random);
        auto const usage = divide(allocation);
        BOOST_REQUIRE_EQUAL(usage.total(), std::max<std::int64_t>(0, allocation.slot_us()));
        for (auto const part : usage.by_use) BOOST_REQUIRE_GE(part, 0);
        std::array<std::int64_t, use_count> with_cause{};
        for (auto const& [key, slot_us] : usage.by_cause) {
            BOOST_REQUIRE_GT(slot_us, 0);
            with_cause.at(static_cast<std::size_t>(key.first)) += slot_us;
        }
        for (auto const use : {Use::starting, Use::redone, Use::lost_to_node})
            BOOST_REQUIRE_EQUAL(with_cause.at(static_cast<std::size_t>(use)), usage.of(use));
    }
}

BOOST_AUTO_TEST_CASE(a_run_starts_trains_saves_and_ends) {
    auto run = make_run(11, 15, 40);
    run.saves = {{at(20), 2'000'000}, {at(40), 1'000'000}};
    auto const usage = divide(make_allocation(10, 42, {run}));
    BOOST_TEST(usage.of(Use::starting) == slot_s(2 * 5));
    BOOST_TEST(usage.of(Use::training) == slot_s(2 * 22));
    BOOST_TEST(usage.of(Use::saving) == slot_s(2 * 3));
    BOOST_TEST(usage.of(Use::ending) == slot_s(2 * 2));
    BOOST_TEST(usage.total() == slot_s(2 * 32));
}

BOOST_AUTO_TEST_CASE(a_save_counts_within_the_allocation) {
    auto run = make_run(0, 5, 20);
    run.saves = {{at(4), 1'000'000}, {at(6), 3'000'000}, {at(12), 4'000'000}, {at(15), 2'000'000}};
    auto const usage = divide(make_allocation(0, 11, {run}, 1));  // Slurm's seconds end before the run
    BOOST_TEST(usage.of(Use::saving) == slot_s(1 + 3));
    BOOST_TEST(usage.of(Use::starting) == slot_s(5));
    BOOST_TEST(usage.of(Use::training) == slot_s(2));
}

BOOST_AUTO_TEST_CASE(training_after_the_last_used_checkpoint_is_lost) {
    auto run = make_run(0, 0, 30);
    run.cause = "hung";
    run.saves = {{at(20), 0}};
    run.kept_until = at(20);
    auto const usage = divide(make_allocation(0, 30, {run}));
    BOOST_TEST(usage.of(Use::training) == slot_s(2 * 20));
    BOOST_TEST(usage.of(Use::redone) == slot_s(2 * 10));
    BOOST_TEST(usage.by_cause.at({Use::redone, "hung"}) == slot_s(2 * 10));
}

BOOST_AUTO_TEST_CASE(nothing_is_kept_of_a_run_whose_checkpoints_were_not_used) {
    auto run = make_run(5, 10, 30);
    run.kept_until = at(5);
    run.lost_as = Use::lost_to_node;
    run.cause = "";
    auto const usage = divide(make_allocation(5, 30, {run}));
    BOOST_TEST(usage.of(Use::training) == 0);
    BOOST_TEST(usage.by_cause.at({Use::lost_to_node, "unknown"}) == slot_s(2 * 20));
}

BOOST_AUTO_TEST_CASE(a_restart_in_the_job_is_a_start_with_its_cause) {
    auto second = make_run(33, 35, 50);
    second.start_cause = "failed";
    auto const usage = divide(make_allocation(0, 50, {make_run(0, 0, 30), second}));
    BOOST_TEST(usage.of(Use::starting) == slot_s(2 * 5));
    BOOST_TEST(usage.by_cause.at({Use::starting, "failed"}) == slot_s(2 * 5));
}

BOOST_AUTO_TEST_CASE(slots_without_a_trial_are_idle_while_other_trials_run) {
    // Two trials of one slot in turn on one lane, one of two slots on the other, which ends at 20.
    auto const usage = divide(
        make_allocation(0, 31, {make_run(0, 0, 20, 2), make_run(0, 0, 10, 1), make_run(12, 12, 30, 1)}, 3));
    BOOST_TEST(usage.of(Use::training) == slot_s(2 * 20 + 10 + 18));
    BOOST_TEST(usage.of(Use::idle) == slot_s(2 + 2 * 10));
    BOOST_TEST(usage.of(Use::ending) == slot_s(3));
}

BOOST_AUTO_TEST_CASE(waiting_is_taken_from_kept_training_only) {
    auto run = make_run(0, 0, 10);
    run.kept_until = at(4);
    run.waited_slot_us = slot_s(3);
    BOOST_TEST(divide(make_allocation(0, 10, {run})).of(Use::waiting) == slot_s(3));
    run.waited_slot_us = slot_s(9);
    auto const usage = divide(make_allocation(0, 10, {run}));
    BOOST_TEST(usage.of(Use::waiting) == slot_s(8));
    BOOST_TEST(usage.of(Use::training) == 0);
    BOOST_TEST(usage.of(Use::redone) == slot_s(12));
}

BOOST_AUTO_TEST_CASE(a_job_without_a_run_did_nothing_but_start) {
    auto const usage = divide(make_allocation(0, 10, {}));
    BOOST_TEST(usage.of(Use::starting) == slot_s(20));
    BOOST_TEST(usage.total() == slot_s(20));
}

BOOST_AUTO_TEST_SUITE_END()
