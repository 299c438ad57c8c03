#include <det/protocol/document.hpp>
#include <det/protocol/json.hpp>
#include <det/tracker/history/attributes.hpp>
#include <det/tracker/history/record_json.hpp>
#include <det/tracker/index/records.hpp>

#include <algorithm>

#include "error_json.hpp"

namespace det::tracker::index {
namespace {

Result<Json> decode_record(std::string_view text) {
    return decode_json("a record of the index", [&] { return parse_json(text); });
}

std::optional<Error> error_in(Row const& row, int column) {
    return row.is_null(column) ? std::nullopt : std::optional(parse_error(row.bytes(column)));
}

// Columns: record, error, is_settled, changed_ns.
Result<ExperimentRow> experiment_in(Row const& row) {
    ExperimentRow experiment;
    DET_TRY_ASSIGN(auto const json, decode_record(row.bytes(0)));
    DET_TRY_ASSIGN(experiment.record, history::parse_experiment_record(json));
    experiment.error = error_in(row, 1);
    experiment.is_settled = row.integer(2) != 0;
    experiment.changed_ns = row.integer(3);
    return experiment;
}

// Columns: record, is_settled, best_value, best_steps.
Result<TrialRow> trial_in(Row const& row) {
    TrialRow trial;
    DET_TRY_ASSIGN(auto const json, decode_record(row.bytes(0)));
    DET_TRY_ASSIGN(trial.record, history::parse_trial_record(json));
    trial.is_settled = row.integer(1) != 0;
    if (!row.is_null(2))
        trial.best = journal::BestValidation{row.real(2), static_cast<std::uint64_t>(row.integer(3))};
    return trial;
}

// Columns: journal, run, node, offset_bytes, reports, records, frame_schemas, error, is_settled.
Result<JournalRow> journal_in(Row const& row, TrialId trial) {
    JournalRow journal;
    journal.id = row.integer(0);
    journal.key = {trial, static_cast<std::uint32_t>(row.integer(1)),
                   static_cast<std::int32_t>(row.integer(2))};
    journal.offset_bytes = static_cast<std::uint64_t>(row.integer(3));
    journal.reports = static_cast<std::uint64_t>(row.integer(4));
    DET_TRY_ASSIGN(auto const records, decode_record(row.bytes(5)));
    DET_TRY_ASSIGN(journal.records, history::parse_run_reports(records));
    DET_TRY_ASSIGN(auto const schemas, decode_record(row.bytes(6)));
    DET_TRY_ASSIGN(journal.frame_schemas,
                   decode_json("frame_schemas", [&] { return schemas.get<std::vector<std::string>>(); }));
    journal.error = error_in(row, 7);
    journal.is_settled = row.integer(8) != 0;
    return journal;
}

/// Calls `convert(Row)` for each row and returns the results.
template <class Value, class Convert, class... Parameters>
Result<std::vector<Value>> list_rows(Database& index, char const* sql, Convert&& convert,
                                     Parameters const&... parameters) {
    std::vector<Value> values;
    DET_TRY(index.for_each(
        sql,
        [&](Row const& row) -> Status {
            DET_TRY_ASSIGN(auto value, convert(row));
            values.push_back(std::move(value));
            return Ok{};
        },
        parameters...));
    return values;
}

template <class Value>
std::optional<Value> first_of(std::vector<Value> values) {
    if (values.empty()) return std::nullopt;
    return std::move(values.front());
}

constexpr std::uint64_t no_id = std::uint64_t{1} << 32;  // higher than all ids

constexpr char select_summaries[] =
    "SELECT experiment, summary, error, best_trial, best_value, best_steps, progress FROM summaries WHERE "
    "experiment<?1 AND (error IS NOT NULL OR"
    " ((?2 OR NOT is_archived) AND (?3 IS NULL OR state IS NULL OR state=?3) AND"
    " (?4 IS NULL OR owner=?4) AND (?5 IS NULL OR instr(name, ?5)>0) AND"
    " (?6 IS NULL OR EXISTS(SELECT 1 FROM json_each(labels) WHERE value=?6))))"
    " ORDER BY experiment DESC LIMIT ?7";

// What belongs to the journals of an experiment, in an order in which each statement still finds its rows.
constexpr char const* removals[] = {
    "DELETE FROM columns WHERE column_of_block>>20 IN (SELECT block FROM blocks JOIN schemas USING(schema) "
    "JOIN journals USING(journal) WHERE experiment=?)",
    "DELETE FROM blocks WHERE schema IN (SELECT schema FROM schemas JOIN journals USING(journal) WHERE "
    "experiment=?)",
    "DELETE FROM schemas WHERE journal IN (SELECT journal FROM journals WHERE experiment=?)",
    "DELETE FROM other_reports WHERE journal IN (SELECT journal FROM journals WHERE experiment=?)",
    "DELETE FROM journals WHERE experiment=?",
    "DELETE FROM rungs WHERE experiment=?",
    "DELETE FROM trials WHERE experiment=?",
    "DELETE FROM summaries WHERE experiment=?",
    "DELETE FROM experiments WHERE experiment=?",
};

}  // namespace

Status put_experiment(Database& index, ExperimentRow const& experiment) {
    return index.run("INSERT OR REPLACE INTO experiments VALUES(?,?,?,?,?)", experiment.record.id.value,
                     to_line(history::to_json_without_trials(experiment.record)),
                     render_error(experiment.error), experiment.is_settled, experiment.changed_ns);
}

Result<std::optional<ExperimentRow>> find_experiment(Database& index, ExperimentId id) {
    DET_TRY_ASSIGN(
        auto rows,
        list_rows<ExperimentRow>(
            index, "SELECT record, error, is_settled, changed_ns FROM experiments WHERE experiment=?",
            experiment_in, id.value));
    return first_of(std::move(rows));
}

Result<std::vector<ExperimentId>> list_experiments(Database& index) {
    std::vector<ExperimentId> ids;
    DET_TRY(index.for_each("SELECT experiment FROM experiments ORDER BY experiment", [&](Row const& row) {
        ids.push_back({static_cast<std::uint32_t>(row.integer(0))});
    }));
    return ids;
}

Status remove_experiment(Database& index, ExperimentId id) {
    for (auto const* const sql : removals) DET_TRY(index.run(sql, id.value));
    return Ok{};
}

Status put_summary(Database& index, history::ExperimentRecord experiment, std::optional<Error> const& error,
                   SummaryExtras const& extras) {
    auto const id = experiment.id;
    auto const now = history::attributes_of(experiment);
    auto const owner = experiment.spec ? std::optional(experiment.spec->owner) : std::nullopt;
    std::string text;
    std::optional<std::string_view> state;
    if (!error) {
        auto [summary, decided] = history::summarise(std::move(experiment));
        text = std::move(summary.text);
        if (decided) state = to_string(*decided);
    }
    auto const& best = extras.best;
    auto const trial = best ? std::optional<std::int64_t>(best->trial) : std::nullopt;
    auto const steps =
        best ? std::optional<std::int64_t>(static_cast<std::int64_t>(best->steps_completed)) : std::nullopt;
    auto const value = best ? std::optional(best->value) : std::nullopt;
    return index.run("INSERT OR REPLACE INTO summaries VALUES(?,?,?,?,?,?,?,?,?,?,?,?)", id.value, state,
                     owner, now.name, to_line(Json(now.labels)), now.is_archived, text, render_error(error),
                     trial, value, steps, extras.progress);
}

Result<history::ExperimentPage> list_summaries(Database& index, history::ExperimentFilter const& filter) {
    history::ExperimentPage page;
    std::optional<std::string_view> state;
    if (filter.state) state = to_string(*filter.state);
    constexpr std::size_t reserved_max = 10'000;
    page.experiments.reserve(std::min(filter.limit, reserved_max));
    auto const before = std::min<std::uint64_t>(filter.before.value_or(no_id), no_id);
    DET_TRY(index.for_each(
        select_summaries,
        [&](Row const& row) {
            page.has_more = page.experiments.size() == filter.limit;
            if (page.has_more) return;
            history::ExperimentSummary found{
                {static_cast<std::uint32_t>(row.integer(0))}, row.text(1), error_in(row, 2)};
            if (!row.is_null(3)) {
                found.best = history::BestTrial{static_cast<std::uint32_t>(row.integer(3)), row.real(4),
                                                static_cast<std::uint64_t>(row.integer(5))};
            }
            if (!row.is_null(6)) found.progress = row.real(6);
            page.experiments.push_back(std::move(found));
        },
        before, filter.with_archived, state, filter.owner, filter.name, filter.label, filter.limit + 1));
    return page;
}

Status put_trial(Database& index, TrialRow const& trial) {
    std::optional<double> value;
    std::optional<std::uint64_t> steps;
    if (trial.best) {
        value = trial.best->value;
        steps = trial.best->steps_completed;
    }
    return index.run("INSERT OR REPLACE INTO trials VALUES(?,?,?,?,?,?)", trial.record.id.experiment.value,
                     trial.record.id.index, to_line(history::to_json(trial.record)), trial.is_settled, value,
                     steps);
}

Result<std::optional<TrialRow>> find_trial(Database& index, TrialId id) {
    DET_TRY_ASSIGN(
        auto rows,
        list_rows<TrialRow>(
            index,
            "SELECT record, is_settled, best_value, best_steps FROM trials WHERE experiment=? AND trial=?",
            trial_in, id.experiment.value, id.index));
    return first_of(std::move(rows));
}

Result<std::vector<TrialRow>> list_trials(Database& index, ExperimentId id) {
    return list_rows<TrialRow>(
        index,
        "SELECT record, is_settled, best_value, best_steps FROM trials WHERE experiment=? ORDER BY trial",
        trial_in, id.value);
}

Status put_rung(Database& index, ExperimentId id, std::uint32_t bracket, std::uint32_t rung,
                std::vector<std::string> const& names) {
    return index.run("INSERT OR REPLACE INTO rungs VALUES(?,?,?,?)", id.value, bracket, rung,
                     to_line(Json(names)));
}

Result<std::vector<std::string>> find_rung(Database& index, ExperimentId id, std::uint32_t bracket,
                                           std::uint32_t rung) {
    DET_TRY_ASSIGN(auto rows,
                   list_rows<std::vector<std::string>>(
                       index, "SELECT names FROM rungs WHERE experiment=? AND bracket=? AND rung=?",
                       [](Row const& row) {
                           return decode_json("names", [&] {
                               return parse_json(row.bytes(0)).get<std::vector<std::string>>();
                           });
                       },
                       id.value, bracket, rung));
    return first_of(std::move(rows)).value_or(std::vector<std::string>());
}

Result<std::int64_t> add_journal(Database& index, JournalKey const& key) {
    history::RunReports none;
    none.run = key.run;
    DET_TRY(index.run("INSERT INTO journals VALUES(NULL,?,?,?,?,0,0,?,'[]',NULL,0)",
                      key.trial.experiment.value, key.trial.index, key.run, key.node,
                      to_line(history::to_json_without_metrics(none))));
    return index.last_row_id();
}

Status update_journal(Database& index, JournalRow const& journal) {
    return index.run(
        "UPDATE journals SET offset_bytes=?, reports=?, records=?, frame_schemas=?, error=?, "
        "is_settled=? WHERE journal=?",
        journal.offset_bytes, journal.reports, to_line(history::to_json_without_metrics(journal.records)),
        to_line(Json(journal.frame_schemas)), render_error(journal.error), journal.is_settled, journal.id);
}

Result<std::vector<JournalRow>> list_journals(Database& index, TrialId trial) {
    return list_rows<JournalRow>(
        index,
        "SELECT journal, run, node, offset_bytes, reports, records, frame_schemas, error, is_settled FROM "
        "journals WHERE experiment=? AND trial=? ORDER BY run, node",
        [&](Row const& row) { return journal_in(row, trial); }, trial.experiment.value, trial.index);
}

}  // namespace det::tracker::index
