#include <det/foundation/reversed.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/array_job.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>
#include <limits>

#include "json_fields.hpp"

namespace det {
namespace {

void read_job(ArrayJob& array, Json const& json) {
    std::string text;
    if (json.is_string()) {
        read_value(json, text);
    } else {
        text = to_line(json);  // a number in files of the first release
    }
    auto const job = parse_integer<std::uint32_t>(text);
    if (!job) refuse_json("job_id '" + text + "' is no job id");
    array.job = *job;
}
void write_job(ArrayJob const& array, Json& json) { json = std::to_string(array.job); }

void read_lanes(ArrayJob& array, Json const& json) {
    read_value(json, array.lanes);
    if (array.lanes == 0) refuse_json("lanes is 0");
}
void write_lanes(ArrayJob const& array, Json& json) { json = array.lanes; }

}  // namespace

template <>
inline constexpr JsonField json_fields<ArrayJob>[] = {
    computed_field<read_job, write_job>("job_id"),
    absent_in_old(field<&ArrayJob::first_trial>("first_trial")),
    absent_in_old(field<&ArrayJob::trial_count>("trial_count")),
    absent_in_old(computed_field<read_lanes, write_lanes>("lanes")),
    absent_in_old(field<&ArrayJob::running_max>("running_max")),
    optional_field<&ArrayJob::tasks>("tasks"),
    optional_field<&ArrayJob::task_count>("task_count"),
    optional_field<&ArrayJob::task_ids>("task_ids"),
    optional_field<&ArrayJob::is_plain_job>("plain_job"),
};

namespace {

void append_arrays(std::vector<ArrayJob>& arrays, Json const& body) {
    auto const list = body.find("arrays");
    // The first release wrote the fields of a single array instead of a list.
    auto const jobs = list == body.end() ? Json::array({body}) : *list;
    for (auto const& json : jobs) {
        auto array = decode_json("an array", [&] {
            ArrayJob read;
            read.trial_count = std::numeric_limits<std::uint32_t>::max();  // where the field is absent
            read_value(json, read);
            return read;
        });
        if (array) arrays.push_back(*std::move(array));
    }
}

/// Compares all members except running_max, tasks, task_count, task_ids and is_plain_job.
bool is_same_array(ArrayJob const& one, ArrayJob const& other) {
    return one.job == other.job && one.first_trial == other.first_trial &&
           one.trial_count == other.trial_count && one.lanes == other.lanes;
}

}  // namespace

bool ArrayJob::runs(std::uint32_t trial) const {
    if (trial < first_trial || trial - first_trial >= trial_count) return false;
    return tasks.empty() || std::ranges::find(tasks, task_of(trial)) != tasks.end();
}

Json jobs_body(std::vector<ArrayJob> const& arrays) {
    Json body;
    write_value(body["arrays"], arrays);
    return body;
}

std::vector<ArrayJob> array_jobs_of(std::vector<Event> const& events) {
    std::vector<ArrayJob> arrays;
    for (auto const& event : events) {
        bool const names_jobs = event.kind == event_kinds::created ||
                                event.kind == event_kinds::resubmitted ||
                                event.kind == event_kinds::continued;
        if (names_jobs && event.body->is_object()) append_arrays(arrays, *event.body);
    }
    return arrays;
}

std::optional<ArrayJob> find_array_of(std::vector<ArrayJob> const& arrays, std::uint32_t trial) {
    for (auto const& array : reversed(arrays)) {
        if (array.runs(trial)) return array;
    }
    return std::nullopt;
}

std::vector<ArrayJob> pick_tasks(std::vector<ArrayJob> const& arrays,
                                 std::vector<std::uint32_t> const& trials) {
    std::vector<ArrayJob> picked;
    for (auto const trial : trials) {
        auto const array = find_array_of(arrays, trial);
        if (!array) continue;
        auto found =
            std::ranges::find_if(picked, [&](auto const& other) { return is_same_array(other, *array); });
        if (found == picked.end()) {
            picked.push_back(*array);
            picked.back().tasks.clear();
            found = picked.end() - 1;
        }
        auto const task = array->task_of(trial);
        if (std::ranges::find(found->tasks, task) == found->tasks.end()) found->tasks.push_back(task);
    }
    return picked;
}

}  // namespace det
