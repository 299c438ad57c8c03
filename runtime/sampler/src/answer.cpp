#include <det/foundation/text.hpp>
#include <det/protocol/ids.hpp>
#include <det/protocol/json.hpp>
#include <det/sampler/answer.hpp>

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace det::sampler {
namespace {

constexpr std::size_t shown_max_bytes = 200;

/// A text of the sampler in a message.
std::string shown(std::string_view text) {
    auto const cut = text.substr(0, shown_max_bytes);
    return fmt::format("'{}'{}", escape_control(std::string(cut)), cut.size() < text.size() ? " ..." : "");
}

Error no_answer(std::string why) {
    return {
        codes::bad_value, "the sampler's answer is wrong: " + std::move(why),
        "it prints one line of JSON, and everything else to its standard error: runtime/sampler/PROTOCOL.md"};
}

/// Whether a value is one that the searcher could have drawn.
struct IsInRange {
    Json const& value;

    bool operator()(search::Constant const& constant) const { return constant.value == value; }
    bool operator()(search::IntRange const& range) const {
        if (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX) return false;
        if (!value.is_number_integer()) return false;
        auto const number = value.get<std::int64_t>();
        return number >= range.minval && number <= range.maxval;
    }
    bool operator()(search::DoubleRange const& range) const { return is_between(range.minval, range.maxval); }
    bool operator()(search::LogRange const& range) const {
        // The ends are computed here and by the sampler, whose last digits may differ.
        auto const a = std::pow(range.base, range.minval), b = std::pow(range.base, range.maxval);
        constexpr double rounding = 1e-9;
        return is_between(std::min(a, b) * (1 - rounding), std::max(a, b) * (1 + rounding));
    }
    bool operator()(search::Choices const& choices) const {
        return std::ranges::any_of(choices.vals, [&](auto const& each) { return each == value; });
    }

private:
    bool is_between(double least, double greatest) const {
        return value.is_number() && value.get<double>() >= least && value.get<double>() <= greatest;
    }
};

Json const* find_at(Json const& map, std::vector<std::string> const& path) {
    auto const* at = &map;
    for (auto const& name : path) {
        auto const found = at->find(name);
        if (found == at->end()) return nullptr;
        at = &*found;
    }
    return at;
}

/// Sets a value and makes the groups around it. Returns false if one of them has a value that is no group.
bool set_at(Json& map, std::vector<std::string> const& path, Json const& value) {
    auto* at = &map;
    for (auto const& name : path) {
        if (!at->is_object()) return false;
        at = &*at->emplace(name, Json::object()).first;
    }
    *at = value;
    return true;
}

/// Adds the constants that the answer leaves out, and checks the values of all configured hyperparameters.
Status complete(Json& chosen, search::Space const& space) {
    for (auto const& dimension : space) {
        auto const* value = find_at(chosen, dimension.path);
        auto const* constant = std::get_if<search::Constant>(&dimension.values);
        auto const name = escape_control(dimension.name());
        if (value == nullptr && constant != nullptr) {
            if (!set_at(chosen, dimension.path, constant->value))
                return no_answer(fmt::format("hyperparameter '{}' has no place in its values", name));
            continue;
        }
        if (value == nullptr) return no_answer(fmt::format("it has no hyperparameter '{}'", name));
        if (!std::visit(IsInRange{*value}, dimension.values))
            return no_answer(fmt::format("hyperparameter '{}' can't be {}", name, shown(to_line(*value))));
    }
    return Ok{};
}

Result<std::vector<std::uint32_t>> read_trials(Json const& answer, char const* name) {
    std::vector<std::uint32_t> trials;
    auto const found = answer.find(name);
    if (found == answer.end()) return trials;
    if (!found->is_array()) return no_answer(fmt::format("'{}' is no list of trials", name));
    for (auto const& each : *found) {
        if (!each.is_number_unsigned() || each.get<std::uint64_t>() >= trials_per_experiment_max)
            return no_answer(fmt::format("'{}' has {}, which is no trial", name, shown(to_line(each))));
        trials.push_back(each.get<std::uint32_t>());
    }
    return trials;
}

Result<std::map<std::uint32_t, std::uint64_t>> read_lengths(Json const& answer) {
    std::map<std::uint32_t, std::uint64_t> lengths;
    auto const found = answer.find("lengths");
    if (found == answer.end()) return lengths;
    if (!found->is_object()) return no_answer("'lengths' is no object of lengths by trials");
    for (auto const& [name, length] : found->items()) {
        auto const trial = parse_integer<std::uint32_t>(name);
        if (!trial || *trial >= trials_per_experiment_max)
            return no_answer(fmt::format("'lengths' has {}, which is no trial", shown(name)));
        if (!length.is_number_unsigned() || length.get<std::uint64_t>() == 0)
            return no_answer(
                fmt::format("trial {} can't train for a length of {}", *trial, shown(to_line(length))));
        lengths[*trial] = length.get<std::uint64_t>();
    }
    return lengths;
}

/// Whether the sampler begins no trial now. The other questions need an answer: they are asked until they
/// have one.
Result<bool> read_wait(Json const& answer, Question question) {
    auto const found = answer.find("wait");
    if (found == answer.end() || *found == Json(false)) return false;
    if (*found != Json(true)) return no_answer(fmt::format("'wait' can't be {}", shown(to_line(*found))));
    if (question != Question::begin)
        return no_answer(fmt::format("an answer to '{}' has no 'wait'", to_string(question)));
    if (answer.contains("hyperparameters") || answer.contains("stop"))
        return no_answer("an answer with 'wait' has neither hyperparameters nor 'stop'");
    return true;
}

/// What an answer says with searcher.sets_lengths, besides what all answers say.
Status read_training(Answer& answer, Json const& json, Question question) {
    DET_TRY_ASSIGN(answer.waits, read_wait(json, question));
    DET_TRY_ASSIGN(answer.lengths, read_lengths(json));
    DET_TRY_ASSIGN(answer.close, read_trials(json, "close"));
    if (auto const state = json.find("state"); state != json.end()) answer.state = JsonValue(Json(*state));
    auto const can_begin = json.find("can_begin");
    if (can_begin == json.end()) return Ok{};
    if (!can_begin->is_number_unsigned() || can_begin->get<std::uint64_t>() > trials_per_experiment_max)
        return no_answer(fmt::format("'can_begin' is {}, no number of trials", shown(to_line(*can_begin))));
    answer.can_begin = can_begin->get<std::uint32_t>();
    return Ok{};
}

Status check_version(Json const& answer) {
    auto const found = answer.find("sampler");
    if (found == answer.end() || !found->is_number_integer())
        return no_answer(fmt::format("'sampler' is not the version of the protocol, {}", protocol_version));
    if (*found == Json(protocol_version)) return Ok{};
    return Error{
        codes::newer_format,
        fmt::format("the sampler answers in version {} of the protocol: this det-submit knows version {}",
                    to_line(*found), protocol_version)};
}

/// Whether lists and objects are nested more deeply than answers may be: reading and copying such JSON takes
/// a level of recursion for each. Counts brackets outside of strings.
bool is_nested_too_deeply(std::string_view line) {
    constexpr int depth_max = 100;
    int depth = 0;
    bool is_in_string = false;
    for (std::size_t i = 0; i < line.size() && depth <= depth_max; ++i) {
        auto const c = line[i];
        if (c == '"') is_in_string = !is_in_string;
        if (is_in_string && c == '\\') ++i;
        if (is_in_string) continue;
        if (c == '[' || c == '{') ++depth;
        if (c == ']' || c == '}') --depth;
    }
    return depth > depth_max;
}

Result<Json> parse_line(std::string_view output) {
    auto const line = trim(output);
    if (line.empty()) return no_answer("it is empty");
    if (line.size() > line_limit_bytes)
        return no_answer(fmt::format("it has more than {}", format_size(line_limit_bytes)));
    if (line.find('\n') != std::string_view::npos)
        return no_answer(fmt::format("it has several lines: {}", shown(line)));
    if (is_nested_too_deeply(line)) return no_answer("it is nested more than 100 levels deep");
    auto answer = try_parse_json(line);
    if (!answer.is_object()) return no_answer(fmt::format("{} is no JSON object", shown(line)));
    return answer;
}

}  // namespace

Result<Answer> parse_answer(std::string_view output, Question question, search::Space const& space,
                            bool sets_lengths) {
    DET_TRY_ASSIGN(auto json, parse_line(output));
    DET_TRY(check_version(json));
    Answer answer;
    DET_TRY_ASSIGN(answer.prune, read_trials(json, "prune"));
    if (sets_lengths && question != Question::report) DET_TRY(read_training(answer, json, question));
    auto const stop = json.find("stop");
    auto const chosen = json.find("hyperparameters");
    bool const has_stop = stop != json.end(), has_chosen = chosen != json.end();
    if (has_stop && !stop->is_string()) return no_answer("'stop' is no text, which says why");
    if (has_stop) answer.stop = escape_control(stop->get<std::string>().substr(0, shown_max_bytes));
    if (has_chosen && !chosen->is_object()) return no_answer("'hyperparameters' is no object");
    if (question != Question::begin && has_chosen)
        return no_answer(fmt::format("an answer to '{}' has no hyperparameters", to_string(question)));
    if (question == Question::report && has_stop) return no_answer("an answer to 'report' has no 'stop'");
    if (question == Question::begin && !answer.waits && has_stop == has_chosen)
        return no_answer("an answer to 'begin' has 'hyperparameters' or 'stop'");
    if (auto const note = json.find("note"); note != json.end()) answer.note = JsonValue(Json(*note));
    if (!has_chosen) return answer;
    DET_TRY(complete(*chosen, space));
    answer.hyperparameters = JsonValue(Json(*chosen));
    return answer;
}

}  // namespace det::sampler
