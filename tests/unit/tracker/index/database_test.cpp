#include <det/foundation/files.hpp>
#include <det/tracker/index/tables.hpp>

#include <boost/test/unit_test.hpp>

#include "check_result.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::tracker::index;

namespace database_test {

struct Fixture {
    TemporaryDirectory directory;
    std::filesystem::path path = directory.path() / "index";
};

Result<std::int64_t> count_experiments(Database& index) {
    std::int64_t count = -1;
    DET_TRY(
        index.for_each("SELECT count(*) FROM experiments", [&](Row const& row) { count = row.integer(0); }));
    return count;
}

Status add_experiment(Database& index, int id) {
    return index.run("INSERT INTO experiments VALUES(?,'{}',NULL,0,0)", id);
}

}  // namespace database_test

BOOST_FIXTURE_TEST_SUITE(database_test, Fixture)

BOOST_AUTO_TEST_CASE(values_of_all_kinds_survive) {
    auto database = must(Database::open(path, Access::write));
    must(database.run_script("CREATE TABLE t(a, b, c, d, e)"));
    std::string const text("x\0y", 3);
    must(database.run("INSERT INTO t VALUES(?,?,?,?,?)", -7, 0.5, text, Bytes{text}, std::optional<int>()));
    int rows = 0;
    must(database.for_each("SELECT * FROM t", [&](Row const& row) {
        ++rows;
        BOOST_TEST(row.integer(0) == -7);
        BOOST_TEST(row.real(1) == 0.5);
        BOOST_TEST(row.text(2) == text);
        BOOST_TEST(row.text(3) == text);
        BOOST_TEST(row.is_null(4));
        BOOST_TEST(!row.is_null(3));
    }));
    BOOST_TEST(rows == 1);
}

BOOST_AUTO_TEST_CASE(a_query_may_run_inside_the_same_query) {
    auto database = must(Database::open(path, Access::write));
    must(database.run_script("CREATE TABLE t(a); INSERT INTO t VALUES(1),(2)"));
    int pairs = 0;
    for (int repetition = 0; repetition < 2; ++repetition) {
        must(database.for_each("SELECT a FROM t", [&](Row const&) {
            return database.for_each("SELECT a FROM t", [&](Row const&) { ++pairs; });
        }));
    }
    BOOST_TEST(pairs == 8);
}

BOOST_AUTO_TEST_CASE(an_error_of_the_visitor_ends_the_query) {
    auto database = must(Database::open(path, Access::write));
    must(database.run_script("CREATE TABLE t(a); INSERT INTO t VALUES(1),(2)"));
    int rows = 0;
    auto const error = must_fail(database.for_each("SELECT a FROM t", [&](Row const&) -> Status {
        ++rows;
        return Error{codes::misuse, "enough"};
    }));
    BOOST_TEST(error.message == "enough");
    BOOST_TEST(rows == 1);
}

BOOST_AUTO_TEST_CASE(a_transaction_without_a_commit_changes_nothing) {
    auto index = must(open_index(path, "/root", Access::write));
    {
        auto const transaction = must(Transaction::begin(index));
        must(add_experiment(index, 1));
    }
    BOOST_TEST(must(count_experiments(index)) == 0);
    auto transaction = must(Transaction::begin(index));
    must(add_experiment(index, 1));
    must(transaction.commit());
    BOOST_TEST(must(count_experiments(index)) == 1);
}

BOOST_AUTO_TEST_CASE(a_reader_sees_one_state_during_a_transaction) {
    auto writer = must(open_index(path, "/root", Access::write));
    auto reader = must(open_index(path, "/root", Access::read));
    {
        auto const transaction = must(Transaction::begin(reader));
        BOOST_TEST(must(count_experiments(reader)) == 0);
        must(add_experiment(writer, 1));
        BOOST_TEST(must(count_experiments(reader)) == 0);
    }
    BOOST_TEST(must(count_experiments(reader)) == 1);
}

BOOST_AUTO_TEST_CASE(a_reader_can_not_write) {
    auto const writer = must(open_index(path, "/root", Access::write));
    auto reader = must(open_index(path, "/root", Access::read));
    must_fail(add_experiment(reader, 1));
}

BOOST_AUTO_TEST_CASE(reading_does_not_create_an_index) {
    BOOST_TEST((must_fail(open_index(path, "/root", Access::read)).code == codes::file_system));
    BOOST_TEST(!path_exists(path));
}

BOOST_AUTO_TEST_CASE(a_file_that_is_no_database_is_damaged) {
    must(write_file(path, std::string(4096, 'x')));
    for (auto const access : {Access::read, Access::write}) {
        auto const error = must_fail(open_index(path, "/root", access));
        BOOST_TEST((error.code == codes::damaged));
        BOOST_TEST(error.hint.find("det-tracker rebuild") != error.hint.npos);
    }
}

BOOST_AUTO_TEST_CASE(the_index_of_another_root_or_version_is_refused) {
    {
        auto index = must(open_index(path, "/root", Access::write));
        BOOST_TEST((must_fail(open_index(path, "/other", Access::read)).code == codes::misuse));
        must(index.run("UPDATE index_head SET version=?", tables_version + 1));
    }
    BOOST_TEST((must_fail(open_index(path, "/root", Access::write)).code == codes::newer_format));
}

BOOST_AUTO_TEST_CASE(the_commit_number_counts) {
    auto index = must(open_index(path, "/root", Access::write));
    BOOST_TEST(must(load_commit_number(index)) == 0);
    must(increase_commit_number(index));
    BOOST_TEST(must(load_commit_number(index)) == 1);
}

BOOST_AUTO_TEST_SUITE_END()
