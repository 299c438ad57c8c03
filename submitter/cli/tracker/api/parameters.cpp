#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>

#include "route_helpers.hpp"

namespace det::tracker::api {
namespace {

Error bad_parameter(std::string_view name, std::string_view expected) {
    return Error{codes::bad_request, fmt::format("the parameter '{}' is not {}", name, expected),
                 "see API.md"};
}

std::string const& path_value(Request const& request, std::string_view name) {
    return request.path_values.find(name)->second;
}

}  // namespace

Response json_response(Json const& json) { return {200, to_line(json) + "\n"}; }

Response json_response(Result<Json> const& result) {
    return result ? json_response(*result) : http::error_response(result.error());
}

Status reject_unknown_parameters(Request const& request, std::vector<std::string_view> const& names) {
    for (auto const& [name, value] : request.target.query) {
        if (std::ranges::find(names, name) != names.end()) continue;
        auto const near = nearest_word(name, names);
        return Error{codes::bad_request, fmt::format("there is no parameter '{}' here", name),
                     near            ? fmt::format("use '{}'", *near)
                     : names.empty() ? "this path takes none"
                                     : fmt::format("it takes {}", fmt::join(names, ", "))};
    }
    return Ok{};
}

std::optional<std::string> text_parameter(Request const& request, std::string_view name) {
    auto const found = request.target.query.find(name);
    return found == request.target.query.end() ? std::nullopt : std::optional(found->second);
}

Result<std::string> require_parameter(Request const& request, std::string_view name) {
    if (auto text = text_parameter(request, name); text && !text->empty()) return *std::move(text);
    return Error{codes::bad_request, fmt::format("this path needs the parameter '{}'", name), "see API.md"};
}

Result<std::optional<double>> number_parameter(Request const& request, std::string_view name) {
    auto const text = text_parameter(request, name);
    if (!text) return std::optional<double>();
    double value = 0;
    auto const end = text->data() + text->size();
    auto const [stop, problem] = std::from_chars(text->data(), end, value);
    if (problem != std::errc{} || stop != end || !std::isfinite(value))
        return bad_parameter(name, "a number");
    return std::optional(value);
}

Result<std::optional<std::uint64_t>> integer_parameter(Request const& request, std::string_view name) {
    auto const text = text_parameter(request, name);
    if (!text) return std::optional<std::uint64_t>();
    auto const value = parse_integer<std::uint64_t>(*text);
    if (!value) return bad_parameter(name, "a whole number");
    return value;
}

Result<bool> flag_parameter(Request const& request, std::string_view name) {
    auto const text = text_parameter(request, name);
    if (!text || *text == "false") return false;
    if (*text == "true") return true;
    return bad_parameter(name, "'true' or 'false'");
}

Result<ExperimentId> experiment_of(Request const& request) {
    if (auto const id = parse_experiment_id(path_value(request, "experiment"))) return *id;
    return Error{codes::bad_request, "the path has no id of an experiment where one is due",
                 "ids are like 7"};
}

Result<TrialId> trial_of(Request const& request) {
    if (auto const id = parse_trial_id(path_value(request, "trial"))) return *id;
    return Error{codes::bad_request, "the path has no id of a trial where one is due", "ids are like 7.3"};
}

Result<std::uint32_t> number_in_path(Request const& request, std::string_view name) {
    if (auto const number = parse_integer<std::uint32_t>(path_value(request, name))) return *number;
    return Error{codes::bad_request, fmt::format("the path has no number for '{}'", name)};
}

}  // namespace det::tracker::api
