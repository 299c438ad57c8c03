#include <det/foundation/reversed.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/array_job.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>
#include <limits>

namespace det {
namespace {

std::optional<std::uint32_t> read_number(Json const& json) {
    if (json.is_string()) return parse_integer<std::uint32_t>(json.get<std::string>());
    return json.is_number_unsigned() ? std::optional(json.get<std::uint32_t>()) : std::nullopt;
}

std::optional<std::uint32_t> number_of(Json const& object, char const* key) {
    auto const found = object.find(key);
    return found == object.end() ? std::nullopt : read_number(*found);
}

std::vector<std::uint32_t> numbers_of(Json const& object, char const* key) {
    std::vector<std::uint32_t> numbers;
    auto const found = object.find(key);
    if (found == object.end() || !found->is_array()) return numbers;
    for (auto const& json : *found) {
        if (auto const number = read_number(json)) numbers.push_back(*number);
    }
    return numbers;
}

std::optional<ArrayJob> read_array(Json const& json) {
    if (!json.is_object()) return std::nullopt;
    auto const job = number_of(json, "job_id");
    if (!job) return std::nullopt;
    auto const everything = std::numeric_limits<std::uint32_t>::max();
    return ArrayJob{*job,
                    number_of(json, "first_trial").value_or(0),
                    number_of(json, "trial_count").value_or(everything),
                    std::max(1u, number_of(json, "lanes").value_or(1)),
                    number_of(json, "running_max").value_or(0),
                    numbers_of(json, "tasks"),
                    number_of(json, "task_count").value_or(0)};
}

void append_arrays(std::vector<ArrayJob>& arrays, Json const& body) {
    auto const list = body.find("arrays");
    // The first release wrote the fields of a single array instead of a list.
    auto const jobs = list == body.end() ? Json::array({body}) : *list;
    for (auto const& json : jobs) {
        if (auto array = read_array(json)) arrays.push_back(*std::move(array));
    }
}

/// Compares all members except running_max, tasks and task_count.
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
    auto list = Json::array();
    for (auto const& array : arrays) {
        Json json{{"job_id", std::to_string(array.job)},
                  {"first_trial", array.first_trial},
                  {"trial_count", array.trial_count},
                  {"lanes", array.lanes},
                  {"running_max", array.running_max}};
        if (!array.tasks.empty()) json["tasks"] = array.tasks;
        if (array.task_count > 0) json["task_count"] = array.task_count;
        list.push_back(std::move(json));
    }
    return Json{{"arrays", std::move(list)}};
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
