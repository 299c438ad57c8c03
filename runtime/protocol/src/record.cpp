#include <det/protocol/json.hpp>
#include <det/protocol/record.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "enum_names.hpp"
#include "json_fields.hpp"

namespace det {
namespace {

constexpr EnumNames<17> cause_names{"finished",
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
                                    "idle",
                                    "waits-for-search",
                                    "unknown"};
constexpr EnumNames<5> next_action_names{"stop", "restart-in-place", "requeue", "left-to-slurm",
                                         "requeue-held"};

std::optional<NextAction> parse_next_action(std::string_view text) {
    return find_named<NextAction>(next_action_names, text);
}

void read_cause(RunEnded& ended, Json const& json) {
    auto name = json.get<std::string>();
    auto const cause = find_named<Cause>(cause_names, name);
    ended.cause = cause.value_or(Cause::unknown);
    if (ended.cause == Cause::unknown) ended.unknown_cause = std::move(name);
}
void write_cause(RunEnded const& ended, Json& json) { json = ended.cause_name(); }

/// JSON has no NaN: null.
void read_metric(OperationCompleted& completed, Json const& json) {
    completed.metric = json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}
void write_metric(OperationCompleted const& completed, Json& json) {
    if (std::isfinite(completed.metric)) json = completed.metric;
}

}  // namespace

template <>
inline constexpr JsonField json_fields<RunStarted>[] = {
    field<&RunStarted::time>("time"),
    field<&RunStarted::job>("job"),
    field<&RunStarted::restart_count>("restart_count"),
    field<&RunStarted::batch_host>("batch_host"),
    field<&RunStarted::hosts>("hosts"),
    field<&RunStarted::restarts>("restarts"),
    field<&RunStarted::latest_checkpoint>("latest_checkpoint"),
    field<&RunStarted::steps_completed>("steps_completed"),
    optional_field<&RunStarted::progress>("progress"),
    optional_field<&RunStarted::slots_per_node>("slots_per_node"),
};

template <>
inline constexpr JsonField json_fields<RunEnded>[] = {
    field<&RunEnded::time>("time"),
    computed_field<read_cause, write_cause>("cause"),
    named_field<&RunEnded::next_action, parse_next_action>("follow"),
    field<&RunEnded::exit_code>("exit_code"),
    field<&RunEnded::message>("message"),
    absent_in_old(field<&RunEnded::bad_hosts>("bad_hosts")),
};

template <>
inline constexpr JsonField json_fields<MetricsReported>[] = {
    field<&MetricsReported::time>("time"),
    field<&MetricsReported::group>("group"),
    field<&MetricsReported::steps_completed>("steps_completed"),
    field<&MetricsReported::metrics>("metrics"),
    optional_field<&MetricsReported::rank>("rank"),
};

template <>
inline constexpr JsonField json_fields<CheckpointCommitted>[] = {
    field<&CheckpointCommitted::time>("time"),
    field<&CheckpointCommitted::uuid>("uuid"),
    field<&CheckpointCommitted::steps_completed>("steps_completed"),
    field<&CheckpointCommitted::resources>("resources"),
    field<&CheckpointCommitted::metadata>("metadata"),
    optional_field<&CheckpointCommitted::blocked_s>("blocked_s"),
    optional_field<&CheckpointCommitted::manifest_sha256>("manifest_sha256"),
};

template <>
inline constexpr JsonField json_fields<CheckpointBegun>[] = {
    field<&CheckpointBegun::time>("time"),
    field<&CheckpointBegun::uuid>("uuid"),
    field<&CheckpointBegun::steps_completed>("steps_completed"),
};

template <>
inline constexpr JsonField json_fields<PreemptionAcknowledged>[] = {
    field<&PreemptionAcknowledged::time>("time"),
    optional_field<&PreemptionAcknowledged::noticed>("noticed"),
};

template <>
inline constexpr JsonField json_fields<ProgressReported>[] = {
    field<&ProgressReported::time>("time"),
    field<&ProgressReported::progress>("progress"),
};

template <>
inline constexpr JsonField json_fields<FirstStep>[] = {field<&FirstStep::time>("time")};

template <>
inline constexpr JsonField json_fields<JobRequeued>[] = {field<&JobRequeued::time>("time")};

template <>
inline constexpr JsonField json_fields<EarlyExitReported>[] = {
    field<&EarlyExitReported::time>("time"),
    field<&EarlyExitReported::reason>("reason"),
};

template <>
inline constexpr JsonField json_fields<StatusSet>[] = {
    field<&StatusSet::time>("time"),
    field<&StatusSet::status>("status"),
};

template <>
inline constexpr JsonField json_fields<AlertRaised>[] = {
    field<&AlertRaised::time>("time"),
    field<&AlertRaised::title>("title"),
    field<&AlertRaised::description>("description"),
    field<&AlertRaised::level>("level"),
};

template <>
inline constexpr JsonField json_fields<TrialMetadataSet>[] = {
    field<&TrialMetadataSet::time>("time"),
    field<&TrialMetadataSet::metadata>("metadata"),
};

template <>
inline constexpr JsonField json_fields<OperationCompleted>[] = {
    field<&OperationCompleted::time>("time"),
    field<&OperationCompleted::length>("length"),
    computed_field<read_metric, write_metric>("metric"),
};

template <>
inline constexpr JsonField json_fields<SearchDecision>[] = {
    field<&SearchDecision::time>("time"),
    field<&SearchDecision::steps_completed>("steps_completed"),
    field<&SearchDecision::bracket>("bracket"),
    field<&SearchDecision::rung>("rung"),
    field<&SearchDecision::entry>("entry"),
    field<&SearchDecision::trials>("trials"),
    field<&SearchDecision::digest>("digest"),
    field<&SearchDecision::better_trials>("better_trials"),
    field<&SearchDecision::kept_trials>("kept_trials"),
    field<&SearchDecision::decision>("decision"),
};

template <>
inline constexpr JsonField json_fields<ReportsDropped>[] = {
    field<&ReportsDropped::time>("time"),
    field<&ReportsDropped::count>("count"),
    field<&ReportsDropped::reason>("reason"),
};

template <>
inline constexpr JsonField json_fields<JobAllocated>[] = {
    field<&JobAllocated::time>("time"),
    field<&JobAllocated::started>("started"),
    optional_field<&JobAllocated::submitted>("submitted"),
    optional_field<&JobAllocated::ended>("ended"),
    field<&JobAllocated::nodes>("nodes"),
};

template <>
inline constexpr JsonField json_fields<ContinuedFromMemory>[] = {
    field<&ContinuedFromMemory::time>("time"),
    field<&ContinuedFromMemory::steps_completed>("steps_completed"),
    field<&ContinuedFromMemory::run>("run"),
};

namespace {

template <class T>
Json to_json(Record const& record) {
    Json json;
    write_value(json, std::get<T>(record));
    return json;
}

template <class T>
Record from_json(Json const& json) {
    T record;
    read_value(json, record);
    return record;
}

// One row per record type: its number, its name, and its conversion to and from JSON.

struct Codec {
    RecordType type;
    std::string_view name;
    Json (*to_json)(Record const&);
    Record (*from_json)(Json const&);
};

template <class T>
constexpr Codec codec(RecordType type, std::string_view name) {
    return {type, name, to_json<T>, from_json<T>};
}

/// In the order of the alternatives of Record.
constexpr std::array<Codec, std::variant_size_v<Record>> codecs{{
    codec<RunStarted>(RecordType::run_started, "run-started"),
    codec<RunEnded>(RecordType::run_ended, "run-ended"),
    codec<MetricsReported>(RecordType::metrics, "metrics"),
    codec<CheckpointCommitted>(RecordType::checkpoint, "checkpoint"),
    codec<PreemptionAcknowledged>(RecordType::acknowledgement, "acknowledgement"),
    codec<ProgressReported>(RecordType::progress, "progress"),
    codec<CheckpointBegun>(RecordType::checkpoint_begun, "checkpoint-begun"),
    codec<FirstStep>(RecordType::first_step, "first-step"),
    codec<JobRequeued>(RecordType::requeued, "queued-again"),
    codec<EarlyExitReported>(RecordType::early_exit, "early-exit"),
    codec<StatusSet>(RecordType::status, "status"),
    codec<AlertRaised>(RecordType::alert, "alert"),
    codec<TrialMetadataSet>(RecordType::trial_metadata, "trial-metadata"),
    codec<OperationCompleted>(RecordType::operation_completed, "operation-completed"),
    codec<SearchDecision>(RecordType::search_decision, "search-decision"),
    codec<ReportsDropped>(RecordType::reports_dropped, "reports-dropped"),
    codec<JobAllocated>(RecordType::allocation, "allocation"),
    codec<ContinuedFromMemory>(RecordType::continued_from_memory, "continued-from-memory"),
}};

}  // namespace

std::string_view RunEnded::cause_name() const {
    return unknown_cause.empty() ? to_string(cause) : std::string_view(unknown_cause);
}

std::string_view to_string(Cause cause) { return name_in(cause_names, cause); }
std::string_view to_string(NextAction next_action) { return name_in(next_action_names, next_action); }

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
