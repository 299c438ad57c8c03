#include <det/tracker/index/tables.hpp>

#include <fmt/format.h>

namespace det::tracker::index {
namespace {

// SCHEMA.md describes the tables.
constexpr char create_tables[] = R"sql(
CREATE TABLE index_head(version INTEGER NOT NULL, root TEXT NOT NULL, commit_number INTEGER NOT NULL);
CREATE TABLE experiments(
  experiment INTEGER PRIMARY KEY, record TEXT NOT NULL, error TEXT, is_settled INTEGER NOT NULL,
  changed_ns INTEGER NOT NULL);
CREATE TABLE summaries(
  experiment INTEGER PRIMARY KEY, state TEXT, owner TEXT, name TEXT NOT NULL, labels TEXT NOT NULL,
  is_archived INTEGER NOT NULL, summary TEXT NOT NULL, error TEXT, best_trial INTEGER, best_value REAL,
  best_steps INTEGER, progress REAL);
CREATE TABLE trials(
  experiment INTEGER NOT NULL, trial INTEGER NOT NULL, record TEXT NOT NULL, is_settled INTEGER NOT NULL,
  best_value REAL, best_steps INTEGER, PRIMARY KEY(experiment, trial)) WITHOUT ROWID;
CREATE TABLE rungs(
  experiment INTEGER NOT NULL, bracket INTEGER NOT NULL, rung INTEGER NOT NULL, names TEXT NOT NULL,
  PRIMARY KEY(experiment, bracket, rung)) WITHOUT ROWID;
CREATE TABLE journals(
  journal INTEGER PRIMARY KEY, experiment INTEGER NOT NULL, trial INTEGER NOT NULL, run INTEGER NOT NULL,
  node INTEGER NOT NULL, offset_bytes INTEGER NOT NULL, reports INTEGER NOT NULL, records TEXT NOT NULL,
  frame_schemas TEXT NOT NULL, error TEXT, is_settled INTEGER NOT NULL,
  UNIQUE(experiment, trial, run, node));
CREATE TABLE schemas(
  schema INTEGER PRIMARY KEY, journal INTEGER NOT NULL, metric_group TEXT NOT NULL, columns TEXT NOT NULL,
  UNIQUE(journal, metric_group, columns));
CREATE TABLE blocks(
  block INTEGER PRIMARY KEY, schema INTEGER NOT NULL, reports INTEGER NOT NULL, first_step INTEGER NOT NULL,
  last_step INTEGER NOT NULL, numbers BLOB NOT NULL, times BLOB NOT NULL, steps BLOB NOT NULL);
CREATE INDEX blocks_of_schema ON blocks(schema, block);
CREATE TABLE columns(column_of_block INTEGER PRIMARY KEY, reals BLOB NOT NULL);
CREATE TABLE other_reports(
  journal INTEGER NOT NULL, number INTEGER NOT NULL, metric_group TEXT NOT NULL, record TEXT NOT NULL,
  PRIMARY KEY(journal, number)) WITHOUT ROWID;
)sql";

struct Head {
    std::int64_t version = 0;
    std::string root;
};

Result<bool> has_tables(Database& index) {
    bool found = false;
    DET_TRY(index.for_each("SELECT 1 FROM sqlite_schema WHERE name='index_head'",
                           [&](Row const&) { found = true; }));
    return found;
}

Status create(Database& index, std::filesystem::path const& root) {
    DET_TRY_ASSIGN(auto transaction, Transaction::begin(index));
    DET_TRY(index.run_script(create_tables));
    DET_TRY(index.run("INSERT INTO index_head VALUES(?,?,0)", tables_version, root.native()));
    return transaction.commit();
}

Status check(Database& index, std::filesystem::path const& path, std::filesystem::path const& root) {
    Head head;
    DET_TRY(index.for_each("SELECT version, root FROM index_head", [&](Row const& row) {
        head = {row.integer(0), row.text(1)};
    }));
    if (head.version != tables_version) {
        return Error{codes::newer_format,
                     fmt::format("the index '{}' has version {} of the tables; this program uses {}",
                                 path.string(), head.version, tables_version),
                     "make it anew from the journals with 'det-tracker rebuild'"};
    }
    if (head.root != root.native()) {
        return Error{codes::misuse, fmt::format("the index '{}' is one of '{}', not of '{}'", path.string(),
                                                head.root, root.string())};
    }
    return Ok{};
}

}  // namespace

Result<Database> open_index(std::filesystem::path const& path, std::filesystem::path const& root,
                            Access access) {
    DET_TRY_ASSIGN(auto index, Database::open(path, access));
    DET_TRY_ASSIGN(bool const exists, has_tables(index));
    if (!exists && access != Access::read) {
        DET_TRY(create(index, root));
        return index;
    }
    DET_TRY(check(index, path, root));
    return index;
}

Result<std::int64_t> load_commit_number(Database& index) {
    std::int64_t number = 0;
    DET_TRY(index.for_each("SELECT commit_number FROM index_head",
                           [&](Row const& row) { number = row.integer(0); }));
    return number;
}

Status increase_commit_number(Database& index) {
    return index.run("UPDATE index_head SET commit_number = commit_number + 1");
}

}  // namespace det::tracker::index
