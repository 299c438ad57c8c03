#include <det/foundation/text.hpp>
#include <det/history/history.hpp>

#include <algorithm>
#include <limits>

namespace det::history {
namespace {

std::optional<std::uint32_t> number_of(Json const& object, char const* key) {
    auto const found = object.find(key);
    if (found == object.end()) return std::nullopt;
    if (found->is_string()) return parse_integer<std::uint32_t>(found->get<std::string>());
    return found->is_number_unsigned() ? std::optional(found->get<std::uint32_t>()) : std::nullopt;
}

std::optional<ArrayJob> read_array(Json const& json) {
    if (!json.is_object()) return std::nullopt;
    auto const job = number_of(json, "job_id");
    if (!job) return std::nullopt;
    auto const everything = std::numeric_limits<std::uint32_t>::max();
    return ArrayJob{*job, number_of(json, "first_trial").value_or(0),
                    number_of(json, "trial_count").value_or(everything),
                    std::max(1u, number_of(json, "lanes").value_or(1))};
}

}  // namespace

Json created_body(std::vector<ArrayJob> const& arrays) {
    auto list = Json::array();
    for (auto const& array : arrays) {
        list.push_back(Json{{"job_id", std::to_string(array.job)},
                            {"first_trial", array.first_trial},
                            {"trial_count", array.trial_count},
                            {"lanes", array.lanes}});
    }
    return Json{{"arrays", std::move(list)}};
}

std::vector<ArrayJob> ExperimentRecord::arrays() const {
    auto const created = std::find_if(events.begin(), events.end(), [](auto const& event) {
        return event.kind == event_kinds::created && event.body.is_object();
    });
    std::vector<ArrayJob> found;
    if (created == events.end()) return found;
    auto const list = created->body.find("arrays");
    // The first release wrote one array, without a list.
    if (list == created->body.end()) {
        if (auto const array = read_array(created->body)) found.push_back(*array);
        return found;
    }
    for (auto const& json : *list) {
        if (auto const array = read_array(json)) found.push_back(*array);
    }
    return found;
}

std::optional<slurm::JobRef> ExperimentRecord::task_of(std::uint32_t trial) const {
    if (is_packed()) return trial < trials.size() ? trials[trial].claimed_by : std::nullopt;
    for (auto const& array : arrays()) {
        if (array.runs(trial)) return slurm::JobRef{array.job, trial - array.first_trial};
    }
    return std::nullopt;
}

}  // namespace det::history
