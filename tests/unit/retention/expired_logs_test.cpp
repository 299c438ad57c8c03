// Which logs are removed after log_retention_days.
#include <det/foundation/files.hpp>
#include <det/journal/event_log.hpp>
#include <det/journal/writer.hpp>
#include <det/protocol/json.hpp>
#include <det/retention/expired_logs.hpp>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/stat.h>

#include "check_result.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::retention;

namespace expired_logs_test {

constexpr std::int64_t hour_us = std::int64_t{3600} * 1'000'000;
constexpr UtcTime now{1'795'262'400'000'000};

/// Experiment 1 with one trial of one run, and logs of a given age.
struct Fixture {
    TemporaryDirectory directory;
    RootLayout root{directory.path()};

    ExperimentLayout layout(std::uint32_t id) const { return {root, {id}}; }

    static ExperimentSpec spec_with(Json const& days) {
        ExperimentSpec spec;
        spec.id = {1};
        spec.searcher = {"single", "loss", true, Json::object()};
        spec.config = Json{{"retention_policy", {{"log_retention_days", days}}}};
        return spec;
    }

    void create(std::uint32_t id, NextAction next, std::int64_t age_us, Json const& days = 7) const {
        auto const run = layout(id).trial(0).run(0);
        must(remove_tree(run.path()));
        must(make_directories(run.path()));
        must(write_file(layout(id).spec(), render_spec(spec_with(days))));
        auto life = must(journal::JournalWriter::create(run.supervisor_journal()));
        must(life.append(RunStarted{}));
        must(life.append(RunEnded{{}, Cause::finished, next, 0, ""}));
        for (auto const& log : logs(id)) write_log(log, age_us);
        write_log(run.path() / "node-0.metrics", age_us);
    }
    std::vector<std::filesystem::path> logs(std::uint32_t id) const {
        auto const run = layout(id).trial(0).run(0);
        return {run.node_log(0), run.node_log(1), layout(id).path() / "slurm-12_0.out"};
    }
    static void write_log(std::filesystem::path const& path, std::int64_t age_us) {
        must(write_file(path, "text\n"));
        auto const seconds = (now.microseconds - age_us) / 1'000'000;
        timespec const times[] = {{seconds, 0}, {seconds, 0}};
        BOOST_REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
    }
    bool are_there(std::uint32_t id) const {
        auto const all = logs(id);
        return std::all_of(all.begin(), all.end(), [](auto const& log) { return path_exists(log); });
    }
    std::size_t removed(std::uint32_t id, Json const& days, GcMode mode = GcMode::remove) const {
        return must(remove_expired_logs(layout(id), spec_with(days), now, mode)).size();
    }
};

}  // namespace expired_logs_test

BOOST_FIXTURE_TEST_SUITE(expired_logs_test, Fixture)

BOOST_AUTO_TEST_CASE(the_last_event_changes_the_days) {
    auto const change = [&](std::int64_t days) {
        must(make_directories(layout(1).events()));
        must(journal::append_event(
            layout(1).events(),
            Event{std::string(log_retention_event), now, "ada@login", Json{{"log_retention_days", days}}}));
    };
    create(1, NextAction::stop, 48 * hour_us);
    change(1);
    change(-1);
    BOOST_TEST(removed(1, 1) == 0u);
    change(3);
    BOOST_TEST(removed(1, 1) == 0u);
    change(1);
    BOOST_TEST(removed(1, 7) == 3u);
}

BOOST_AUTO_TEST_CASE(logs_of_an_ended_trial_are_removed_after_their_days) {
    constexpr std::int64_t week_us = 7 * 24 * hour_us;
    create(1, NextAction::stop, week_us - 1'000'000);
    BOOST_TEST(removed(1, 7) == 0u);
    create(2, NextAction::stop, week_us + 1'000'000);
    BOOST_TEST(removed(2, 7, GcMode::dry_run) == 3u);
    BOOST_TEST(are_there(2));
    BOOST_TEST(removed(2, 7) == 3u);
    for (auto const& log : logs(2)) BOOST_TEST(!path_exists(log));
    BOOST_TEST(path_exists(layout(2).trial(0).run(0).path() / "node-0.metrics"));
    BOOST_TEST(removed(2, 7) == 0u);
}

BOOST_AUTO_TEST_CASE(of_no_days_an_hour_is_left_to_read_them) {
    create(1, NextAction::stop, hour_us - 1'000'000);
    BOOST_TEST(removed(1, 0) == 0u);
    create(2, NextAction::stop, hour_us + 1'000'000);
    BOOST_TEST(removed(2, 0) == 3u);
}

BOOST_AUTO_TEST_CASE(logs_stay_without_a_policy_and_for_a_trial_that_may_run_again) {
    constexpr std::int64_t year_us = 365 * 24 * hour_us;
    create(1, NextAction::stop, year_us);
    BOOST_TEST(removed(1, -1) == 0u);
    BOOST_TEST(removed(1, nullptr) == 0u);
    create(2, NextAction::requeue, year_us);
    BOOST_TEST(removed(2, 7) == 0u);
}

BOOST_AUTO_TEST_CASE(all_experiments_are_cleaned_once_a_day) {
    constexpr std::int64_t year_us = 365 * 24 * hour_us;
    create(1, NextAction::stop, year_us);
    create(2, NextAction::stop, year_us, -1);
    must(make_directories(layout(3).path()));  // is being created
    must(remove_expired_logs_daily(root, now));
    BOOST_TEST(!are_there(1));
    BOOST_TEST(are_there(2));
    for (auto const& log : logs(1)) write_log(log, year_us);
    write_log(directory / "logs-cleaned", 23 * hour_us);
    must(remove_expired_logs_daily(root, now));
    BOOST_TEST(are_there(1));
    write_log(directory / "logs-cleaned", 25 * hour_us);
    must(remove_expired_logs_daily(root, now));
    BOOST_TEST(!are_there(1));
}

BOOST_AUTO_TEST_CASE(an_experiment_that_cannot_be_read_does_not_keep_the_logs_of_others) {
    constexpr std::int64_t year_us = 365 * 24 * hour_us;
    for (std::uint32_t id = 1; id <= 3; ++id) create(id, NextAction::stop, year_us);
    must(remove_tree(layout(1).trial(0).run(0).supervisor_journal()));
    must(make_directories(layout(1).trial(0).run(0).supervisor_journal()));
    must(remove_tree(layout(2).trial(0).runs()));
    must(write_file(layout(2).trial(0).runs(), "no directory"));
    BOOST_TEST(!remove_expired_logs(layout(1), spec_with(7), now).has_value());
    BOOST_TEST(!remove_expired_logs(layout(2), spec_with(7), now).has_value());
    auto const error = must_fail(remove_expired_logs_daily(root, now));
    BOOST_TEST((error.code == codes::not_a_file));
    BOOST_TEST(are_there(1));
    for (auto const& log : logs(3)) BOOST_TEST(!path_exists(log));
}

BOOST_AUTO_TEST_SUITE_END()
