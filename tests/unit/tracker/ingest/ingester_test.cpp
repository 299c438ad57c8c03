#include <det/foundation/files.hpp>
#include <det/journal/damage.hpp>
#include <det/tracker/history/dump.hpp>
#include <det/tracker/index/index_history.hpp>
#include <det/tracker/index/records.hpp>
#include <det/tracker/index/tables.hpp>
#include <det/tracker/ingest/ingester.hpp>
#include <det/tracker/ingest/rebuild.hpp>

#include <boost/test/unit_test.hpp>

#include "example_root.hpp"

using namespace det;
using namespace det::tracker;
using namespace det::tracker::ingest;

namespace ingester_test {

struct Fixture {
    TemporaryDirectory directory;
    ExampleRoot example{directory.path() / "root"};
    std::filesystem::path path = directory.path() / "index";
    std::optional<Ingester> ingester;
    TimePoint now{};

    Fixture() { open(); }
    void open() {
        ingester.emplace(must(index::open_index(path, example.root.path(), index::Access::write)),
                         example.root);
    }
    /// Polls as a server does, until nothing has changed for a minute.
    void poll_until_quiet() {
        for (auto last_change = now; now - last_change <= std::chrono::seconds(61);
             now += std::chrono::seconds(1))
            if (must(ingester->poll(now))) last_change = now;
    }
    index::IndexHistory history_at(std::filesystem::path const& file) const {
        return {must(index::open_index(file, example.root.path(), index::Access::read)), example.root.path()};
    }
    std::string dump(history::History& history, std::uint32_t id) const {
        return history::dump_experiment(history, {id});
    }
    /// The index and the journals must have the same records.
    void check_same(std::uint32_t id) {
        history::JournalHistory journals(example.root);
        auto indexed = history_at(path);
        BOOST_TEST((must(indexed.list_experiments()) == must(journals.list_experiments())));
        check_same_text(dump(indexed, id), dump(journals, id));
    }
    static void check_same_text(std::string const& a, std::string const& b) {
        if (a == b) return;
        auto const at = static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
        auto const from = at < 80 ? 0 : at - 80;
        BOOST_ERROR("differs at " << at << ":\n  " << a.substr(from, 200) << "\n  " << b.substr(from, 200));
    }
};

std::int64_t count(index::Database& database, char const* sql) {
    std::int64_t number = -1;
    must(database.for_each(sql, [&](index::Row const& row) { number = row.integer(0); }));
    return number;
}

}  // namespace ingester_test

BOOST_FIXTURE_TEST_SUITE(ingester_test, Fixture)

BOOST_AUTO_TEST_CASE(an_empty_root_has_no_experiments) {
    BOOST_TEST(!must(ingester->poll(now)));
    BOOST_TEST(must(history_at(path).list_experiments()).empty());
    check_same(1);  // both give the same error
}

BOOST_AUTO_TEST_CASE(the_index_has_what_the_journals_have_at_every_step) {
    for (std::uint32_t id = 1; id <= 3; ++id) example.create(id, id);
    must(ingester->poll(now));
    for (int step = 0; step < 60; ++step) {
        std::uint32_t const id = 1 + static_cast<std::uint32_t>(example.random()() % 3);
        example.step({{id}, static_cast<std::uint32_t>(example.random()() % id)});
        if (step % 7 == 0) open();  // the process starts anew
        must(ingester->refresh({id}, now));
        check_same(id);
    }
}

BOOST_AUTO_TEST_CASE(a_live_index_and_a_rebuilt_one_have_the_same_records) {
    example.create(1, 2);
    for (int step = 0; step < 40; ++step) {
        example.step({{1}, static_cast<std::uint32_t>(step % 2)});
        must(ingester->poll(now += std::chrono::seconds(1)));
    }
    for (std::uint32_t trial : {0, 1}) example.finish({{1}, trial});
    poll_until_quiet();
    auto live = history_at(path);
    auto const before = dump(live, 1);
    auto const other = directory.path() / "rebuilt";
    must(rebuild_index(other, example.root));
    auto rebuilt = history_at(other);
    check_same_text(before, dump(rebuilt, 1));
    check_same(1);
    BOOST_TEST(!path_exists(other.native() + ".new"));
}

BOOST_AUTO_TEST_CASE(a_rebuilt_index_replaces_the_old_one) {
    example.create(1, 1);
    must(ingester->poll(now));
    ingester.reset();
    example.create(2, 1);
    must(rebuild_index(path, example.root));
    check_same(2);
}

BOOST_AUTO_TEST_CASE(blocks_of_ended_trials_are_joined) {
    example.create(1, 1);
    TrialId const trial{{1}, 0};
    example.step(trial);
    constexpr int polls = 40;
    for (int i = 0; i < polls; ++i) {
        example.run_of(trial).report(500, 1, example.random());
        must(ingester->refresh({1}, now));
    }
    auto reader = must(index::open_index(path, example.root.path(), index::Access::read));
    auto const training_blocks =
        "SELECT count(*) FROM blocks JOIN schemas USING(schema) WHERE metric_group='training'";
    BOOST_TEST(count(reader, training_blocks) == polls);
    auto const validation_blocks =
        "SELECT count(*) FROM blocks JOIN schemas USING(schema) WHERE metric_group='validation'";
    BOOST_TEST(count(reader, validation_blocks) < polls / 4);  // 50 reports at a time are joined at once
    example.finish(trial);
    poll_until_quiet();
    BOOST_TEST(count(reader, training_blocks) == (polls * 500 + 8191) / 8192);
    BOOST_TEST(count(reader, validation_blocks) == 1);
    BOOST_TEST(count(reader, "SELECT min(is_settled) FROM experiments") == 1);
    BOOST_TEST(count(reader, "SELECT count(*) FROM columns") == 3 + 1);
    check_same(1);
}

BOOST_AUTO_TEST_CASE(reports_after_an_open_block_fill_it_and_further_ones) {
    example.create(1, 1);
    TrialId const trial{{1}, 0};
    example.step(trial);
    example.run_of(trial).report(100, 1, example.random());
    must(ingester->refresh({1}, now));
    example.run_of(trial).report(30'000, 1, example.random());
    must(ingester->refresh({1}, now));
    auto reader = must(index::open_index(path, example.root.path(), index::Access::read));
    BOOST_TEST(count(reader,
                     "SELECT count(*) FROM blocks JOIN schemas USING(schema) WHERE"
                     " metric_group='training' AND reports=8192") == 3);
    BOOST_TEST(count(reader,
                     "SELECT sum(reports) FROM blocks JOIN schemas USING(schema) WHERE"
                     " metric_group='training'") == 30'100);
    check_same(1);
}

BOOST_AUTO_TEST_CASE(a_deleted_experiment_disappears_with_all_its_rows) {
    auto const layout = example.create(1, 1);
    example.create(2, 1);
    for (int i = 0; i < 20; ++i) example.step({{1}, 0});
    poll_until_quiet();
    must(write_file(layout.deleted(), ""));
    poll_until_quiet();
    check_same(1);
    for (int i = 0; i < 10; ++i) BOOST_TEST(!must(ingester->poll(now += std::chrono::seconds(1))));
    open();
    must(ingester->poll(now));
    BOOST_TEST(!must(ingester->poll(now)));
    check_same(1);
    auto reader = must(index::open_index(path, example.root.path(), index::Access::read));
    for (auto const* const sql :
         {"SELECT count(*) FROM blocks", "SELECT count(*) FROM columns", "SELECT count(*) FROM schemas",
          "SELECT count(*) FROM other_reports", "SELECT count(*) FROM journals WHERE experiment=1",
          "SELECT count(*) FROM trials WHERE experiment=1"})
        BOOST_TEST(count(reader, sql) == 0, sql);
}

BOOST_AUTO_TEST_CASE(an_experiment_that_can_not_be_read_is_an_error_until_it_can) {
    auto const layout = example.create(1, 1);
    auto const spec = must(read_file(layout.spec()));
    must(write_file(layout.spec(), "{"));
    must(ingester->refresh({1}, now));
    check_same(1);
    BOOST_TEST((must_fail(history_at(path).load_experiment({1})).code ==
                must_fail(history::JournalHistory(example.root).load_experiment({1})).code));
    must(write_file(layout.spec(), spec));
    must(ingester->refresh({1}, now));
    check_same(1);
}

BOOST_AUTO_TEST_CASE(a_trial_that_can_not_be_read_is_one_change_and_one_error) {
    auto const layout = example.create(1, 2);
    example.step({{1}, 0});
    example.step({{1}, 1});
    must(ingester->refresh({1}, now));
    auto const life = layout.trial(0).run(0).supervisor_journal();
    auto const bytes = must(read_file(life));
    must(write_file(life, "no journal at all"));
    BOOST_TEST(must(ingester->refresh({1}, now)));
    check_same(1);
    BOOST_TEST(!must(ingester->refresh({1}, now)));
    open();
    BOOST_TEST(!must(ingester->refresh({1}, now)));
    check_same(1);
    must(write_file(life, bytes));
    BOOST_TEST(must(ingester->refresh({1}, now)));
    check_same(1);
    BOOST_TEST(!must(ingester->refresh({1}, now)));
}

BOOST_AUTO_TEST_CASE(a_journal_with_an_unreadable_record_is_the_same_error_in_both) {
    example.create(1, 1);
    example.step({{1}, 0});
    example.run_of({{1}, 0}).report(10, 1, example.random());
    auto const journal = example.run_of({{1}, 0}).layout().chief_journal();
    must(write_file(journal, must(read_file(journal)) + journal::render_frame(17, "no values")));
    must(ingester->refresh({1}, now));
    check_same(1);
    must_fail(history_at(path).load_reports({{1}, 0}));
}

BOOST_AUTO_TEST_CASE(a_damaged_journal_is_an_error_in_both_until_the_user_accepts_it) {
    auto const layout = example.create(1, 1);
    example.step({{1}, 0});
    auto& run = example.run_of({{1}, 0});
    for (int i = 0; i < 3; ++i) run.report(10, 1, example.random());
    auto const journal = run.layout().chief_journal();
    auto bytes = must(read_file(journal));
    bytes[bytes.size() / 2] ^= 1;
    must(write_file(journal, bytes));
    must(ingester->refresh({1}, now));
    check_same(1);
    BOOST_TEST((must_fail(history_at(path).load_reports({{1}, 0})).code == codes::journal_damaged));

    for (auto const& damaged : must(journal::find_damaged_journals(layout))) must(accept_damage(damaged));
    must(ingester->refresh({1}, now));
    check_same(1);
    BOOST_TEST(must(history_at(path).load_reports({{1}, 0}))[0].metrics.size() > 10u);
}

BOOST_AUTO_TEST_CASE(a_damaged_last_record_of_an_ended_run_is_an_error_in_both) {
    auto const layout = example.create(1, 1);
    example.step({{1}, 0});
    auto& run = example.run_of({{1}, 0});
    run.report(10, 1, example.random());
    auto const journal = run.layout().chief_journal();
    example.finish({{1}, 0});
    auto bytes = must(read_file(journal));
    bytes[bytes.size() - 2] ^= 1;
    must(write_file(journal, bytes));
    poll_until_quiet();
    check_same(1);
    BOOST_TEST((must_fail(history_at(path).load_reports({{1}, 0})).code == codes::journal_damaged));
    for (auto const& damaged : must(journal::find_damaged_journals(layout))) must(accept_damage(damaged));
    must(ingester->refresh({1}, now));
    poll_until_quiet();
    check_same(1);
}

BOOST_AUTO_TEST_CASE(a_journal_in_pieces_is_read_once_it_is_whole) {
    example.create(1, 1);
    example.step({{1}, 0});
    example.run_of({{1}, 0}).report(10, 2, example.random());
    auto const journal = example.run_of({{1}, 0}).layout().chief_journal();
    auto const bytes = must(read_file(journal));
    for (std::size_t size = 0; size <= bytes.size(); ++size) {
        must(write_file(journal, bytes.substr(0, size)));
        must(ingester->refresh({1}, now));
        if (size % 16 == 0 || size == bytes.size()) check_same(1);
    }
}

BOOST_AUTO_TEST_CASE(nothing_changes_while_nothing_happens) {
    example.create(1, 1);
    for (int i = 0; i < 10; ++i) example.step({{1}, 0});
    poll_until_quiet();
    auto reader = must(index::open_index(path, example.root.path(), index::Access::read));
    auto const commit = must(index::load_commit_number(reader));
    for (int i = 0; i < 100; ++i) must(ingester->poll(now += std::chrono::seconds(1)));
    BOOST_TEST(must(index::load_commit_number(reader)) == commit);
}

BOOST_AUTO_TEST_CASE(a_search_s_rungs_are_in_the_index) {
    auto const layout = example.create(1, 1);
    must(make_directories(layout.rung(0, 1)));
    must(write_file(layout.rung(0, 1) / "0@0.25", ""));
    must(ingester->refresh({1}, now));
    auto const entries = must(history_at(path).load_rung({1}, 0, 1));
    BOOST_REQUIRE(entries.size() == 1u);
    BOOST_TEST(entries[0].metric == 0.25);
    BOOST_TEST(must(history_at(path).load_rung({1}, 0, 2)).empty());
}

BOOST_AUTO_TEST_SUITE_END()
