#include <det/protocol/json.hpp>
#include <det/protocol/record.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace det {
namespace {

constexpr std::array<std::string_view, 15> cause_names{"finished",
                                                       "preempted",
                                                       "paused",
                                                       "canceled",
                                                       "failed",
                                                       "time-limit",
                                                       "node-failed",
                                                       "superseded",
                                                       "not-launched",
                                                       "interrupted",
                                                       "stopped-by-search",
                                                       "invalid-hyperparameters",
                                                       "hung",
                                                       "checkpoint-damaged",
                                                       "unknown"};
constexpr std::array<std::string_view, 5> next_action_names{"stop", "restart-in-place", "requeue",
                                                            "left-to-slurm", "requeue-held"};

template <class E, std::size_t N>
E find_named(std::array<std::string_view, N> const& names, std::string const& text) {
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (names[i] == text) return static_cast<E>(i);
    }
    throw Json::other_error::create(501, "'" + text + "' is unknown", nullptr);
}

UtcTime time_from(Json const& json, char const* key = "time") {
    auto const text = json.at(key).get<std::string>();
    auto const time = parse_utc(text);
    if (!time) throw Json::other_error::create(501, "'" + text + "' is no time", nullptr);
    return *time;
}

// One row per record type: its number, its name, and its conversion to and from JSON.

struct Codec {
    RecordType type;
    std::string_view name;
    Json (*to_json)(Record const&);
    Record (*from_json)(Json const&);
};

Json started_to_json(Record const& record) {
    auto const& r = std::get<RunStarted>(record);
    Json json{{"time", format_utc(r.time)},
              {"job", r.job},
              {"restart_count", r.restart_count},
              {"batch_host", r.batch_host},
              {"hosts", r.hosts},
              {"restarts", r.restarts},
              {"latest_checkpoint", r.latest_checkpoint},
              {"steps_completed", r.steps_completed}};
    if (r.progress) json["progress"] = format_utc(*r.progress);
    return json;
}

Record started_from_json(Json const& json) {
    RunStarted started{
        time_from(json),  json.at("job"),      json.at("restart_count"),     json.at("batch_host"),
        json.at("hosts"), json.at("restarts"), json.at("latest_checkpoint"), json.at("steps_completed")};
    if (json.contains("progress")) started.progress = time_from(json, "progress");
    return started;
}

Json ended_to_json(Record const& record) {
    auto const& r = std::get<RunEnded>(record);
    return {{"time", format_utc(r.time)}, {"cause", r.cause_name()}, {"follow", to_string(r.next_action)},
            {"exit_code", r.exit_code},   {"message", r.message},    {"bad_hosts", r.bad_hosts}};
}

Cause find_cause(std::string const& name) {
    auto const found = std::ranges::find(cause_names, name);
    return found == cause_names.end() ? Cause::unknown : static_cast<Cause>(found - cause_names.begin());
}

Record ended_from_json(Json const& json) {
    auto const name = json.at("cause").get<std::string>();
    auto const cause = find_cause(name);
    return RunEnded{time_from(json),
                    cause,
                    find_named<NextAction>(next_action_names, json.at("follow")),
                    json.at("exit_code"),
                    json.at("message"),
                    json.value("bad_hosts", ""),
                    cause == Cause::unknown ? name : ""};
}

Json metrics_to_json(Record const& record) {
    auto const& r = std::get<MetricsReported>(record);
    Json json{{"time", format_utc(r.time)},
              {"group", r.group},
              {"steps_completed", r.steps_completed},
              {"metrics", r.metrics}};
    if (r.rank != Rank{}) json["rank"] = r.rank.value;
    return json;
}

Record metrics_from_json(Json const& json) {
    return MetricsReported{time_from(json), json.at("group"), json.at("steps_completed"), json.at("metrics"),
                           Rank{json.value("rank", 0)}};
}

Json checkpoint_to_json(Record const& record) {
    auto const& r = std::get<CheckpointCommitted>(record);
    Json json{{"time", format_utc(r.time)},
              {"uuid", r.uuid},
              {"steps_completed", r.steps_completed},
              {"resources", r.resources},
              {"metadata", r.metadata}};
    if (r.blocked_s) json["blocked_s"] = *r.blocked_s;
    if (!r.manifest_sha256.empty()) json["manifest_sha256"] = r.manifest_sha256;
    return json;
}

Record checkpoint_from_json(Json const& json) {
    CheckpointCommitted committed{time_from(json), json.at("uuid"), json.at("steps_completed"),
                                  json.at("resources"), json.at("metadata")};
    if (json.contains("blocked_s")) committed.blocked_s = json.at("blocked_s").get<double>();
    committed.manifest_sha256 = json.value("manifest_sha256", "");
    return committed;
}

Json begun_to_json(Record const& record) {
    auto const& r = std::get<CheckpointBegun>(record);
    return {{"time", format_utc(r.time)}, {"uuid", r.uuid}, {"steps_completed", r.steps_completed}};
}

Record begun_from_json(Json const& json) {
    return CheckpointBegun{time_from(json), json.at("uuid"), json.at("steps_completed")};
}

Json acknowledgement_to_json(Record const& record) {
    auto const& r = std::get<PreemptionAcknowledged>(record);
    Json json{{"time", format_utc(r.time)}};
    if (r.noticed) json["noticed"] = format_utc(*r.noticed);
    return json;
}

Record acknowledgement_from_json(Json const& json) {
    PreemptionAcknowledged record{time_from(json)};
    if (json.contains("noticed")) record.noticed = time_from(json, "noticed");
    return record;
}

// Records that contain only a time.

template <class T>
Json moment_to_json(Record const& record) {
    return {{"time", format_utc(std::get<T>(record).time)}};
}

template <class T>
Record moment_from_json(Json const& json) {
    return T{time_from(json)};
}

Json progress_to_json(Record const& record) {
    auto const& r = std::get<ProgressReported>(record);
    return {{"time", format_utc(r.time)}, {"progress", r.progress}};
}

Record progress_from_json(Json const& json) { return ProgressReported{time_from(json), json.at("progress")}; }

Json early_exit_to_json(Record const& record) {
    auto const& r = std::get<EarlyExitReported>(record);
    return {{"time", format_utc(r.time)}, {"reason", r.reason}};
}

Record early_exit_from_json(Json const& json) {
    return EarlyExitReported{time_from(json), json.at("reason")};
}

Json status_to_json(Record const& record) {
    auto const& r = std::get<StatusSet>(record);
    return {{"time", format_utc(r.time)}, {"status", r.status}};
}

Record status_from_json(Json const& json) { return StatusSet{time_from(json), json.at("status")}; }

Json alert_to_json(Record const& record) {
    auto const& r = std::get<AlertRaised>(record);
    return {
        {"time", format_utc(r.time)}, {"title", r.title}, {"description", r.description}, {"level", r.level}};
}

Record alert_from_json(Json const& json) {
    return AlertRaised{time_from(json), json.at("title"), json.at("description"), json.at("level")};
}

Json metadata_to_json(Record const& record) {
    auto const& r = std::get<TrialMetadataSet>(record);
    return {{"time", format_utc(r.time)}, {"metadata", r.metadata}};
}

Record metadata_from_json(Json const& json) { return TrialMetadataSet{time_from(json), json.at("metadata")}; }

Json operation_to_json(Record const& record) {
    auto const& r = std::get<OperationCompleted>(record);
    auto const metric = std::isfinite(r.metric) ? Json(r.metric) : Json(nullptr);
    return {{"time", format_utc(r.time)}, {"length", r.length}, {"metric", metric}};
}

Record operation_from_json(Json const& json) {
    auto const& metric = json.at("metric");
    return OperationCompleted{
        time_from(json), json.at("length"),
        metric.is_null() ? std::numeric_limits<double>::quiet_NaN() : metric.get<double>()};
}

Json decision_to_json(Record const& record) {
    auto const& r = std::get<SearchDecision>(record);
    return {{"time", format_utc(r.time)},
            {"steps_completed", r.steps_completed},
            {"bracket", r.bracket},
            {"rung", r.rung},
            {"entry", r.entry},
            {"trials", r.trials},
            {"digest", r.digest},
            {"better_trials", r.better_trials},
            {"kept_trials", r.kept_trials},
            {"decision", r.decision}};
}

Record decision_from_json(Json const& json) {
    return SearchDecision{time_from(json),    json.at("steps_completed"), json.at("bracket"),
                          json.at("rung"),    json.at("entry"),           json.at("trials"),
                          json.at("digest"),  json.at("better_trials"),   json.at("kept_trials"),
                          json.at("decision")};
}

Json dropped_to_json(Record const& record) {
    auto const& r = std::get<ReportsDropped>(record);
    return {{"time", format_utc(r.time)}, {"count", r.count}, {"reason", r.reason}};
}

Record dropped_from_json(Json const& json) {
    return ReportsDropped{time_from(json), json.at("count"), json.at("reason")};
}

Json allocation_to_json(Record const& record) {
    auto const& r = std::get<JobAllocated>(record);
    Json json{{"time", format_utc(r.time)}, {"started", format_utc(r.started)}, {"nodes", r.nodes}};
    if (r.submitted) json["submitted"] = format_utc(*r.submitted);
    if (r.ended) json["ended"] = format_utc(*r.ended);
    return json;
}

Record allocation_from_json(Json const& json) {
    JobAllocated allocated{time_from(json), time_from(json, "started"), {}, {}, json.at("nodes")};
    if (json.contains("submitted")) allocated.submitted = time_from(json, "submitted");
    if (json.contains("ended")) allocated.ended = time_from(json, "ended");
    return allocated;
}

/// In the order of the alternatives of Record.
constexpr std::array<Codec, std::variant_size_v<Record>> codecs{{
    {RecordType::run_started, "run-started", started_to_json, started_from_json},
    {RecordType::run_ended, "run-ended", ended_to_json, ended_from_json},
    {RecordType::metrics, "metrics", metrics_to_json, metrics_from_json},
    {RecordType::checkpoint, "checkpoint", checkpoint_to_json, checkpoint_from_json},
    {RecordType::acknowledgement, "acknowledgement", acknowledgement_to_json, acknowledgement_from_json},
    {RecordType::progress, "progress", progress_to_json, progress_from_json},
    {RecordType::checkpoint_begun, "checkpoint-begun", begun_to_json, begun_from_json},
    {RecordType::first_step, "first-step", moment_to_json<FirstStep>, moment_from_json<FirstStep>},
    {RecordType::requeued, "queued-again", moment_to_json<JobRequeued>, moment_from_json<JobRequeued>},
    {RecordType::early_exit, "early-exit", early_exit_to_json, early_exit_from_json},
    {RecordType::status, "status", status_to_json, status_from_json},
    {RecordType::alert, "alert", alert_to_json, alert_from_json},
    {RecordType::trial_metadata, "trial-metadata", metadata_to_json, metadata_from_json},
    {RecordType::operation_completed, "operation-completed", operation_to_json, operation_from_json},
    {RecordType::search_decision, "search-decision", decision_to_json, decision_from_json},
    {RecordType::reports_dropped, "reports-dropped", dropped_to_json, dropped_from_json},
    {RecordType::allocation, "allocation", allocation_to_json, allocation_from_json},
}};

}  // namespace

std::string_view RunEnded::cause_name() const {
    return unknown_cause.empty() ? to_string(cause) : std::string_view(unknown_cause);
}

std::string_view to_string(Cause cause) { return cause_names.at(static_cast<std::size_t>(cause)); }
std::string_view to_string(NextAction next_action) {
    return next_action_names.at(static_cast<std::size_t>(next_action));
}

EncodedRecord encode_record(Record const& record) {
    auto const& codec = codecs.at(record.index());
    return {codec.type, to_line(codec.to_json(record))};
}

Result<std::optional<Record>> decode_record(std::uint16_t type, std::string_view payload) {
    for (auto const& codec : codecs) {
        if (static_cast<std::uint16_t>(codec.type) != type) continue;
        DET_TRY_ASSIGN(auto record,
                       decode_json(codec.name, [&] { return codec.from_json(parse_json(payload)); }));
        return std::optional<Record>(std::move(record));
    }
    return std::optional<Record>(std::nullopt);
}

Json to_json(Record const& record) {
    auto const& codec = codecs.at(record.index());
    auto json = codec.to_json(record);
    json["record"] = codec.name;
    return json;
}

Result<Record> parse_record(Json const& json) {
    return decode_json("record", [&]() -> Record {
        auto const& name = json.at("record").get_ref<std::string const&>();
        auto const* const codec = std::ranges::find(codecs, name, &Codec::name);
        if (codec == codecs.end()) throw Json::other_error::create(501, "'" + name + "' is unknown", nullptr);
        return codec->from_json(json);
    });
}

}  // namespace det
