// The cache is a line with the version and the checksum of the rest (rendering a document again to check it
// takes as long as all else), and replaced by rename: several processes may write it, and each writes a true
// one. It is only used for the revision of the experiment that it was made for, because a continuation
// reopens trials.
#include <det/foundation/bytes.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/trusted_file.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/json_number.hpp>
#include <det/sampler/state.hpp>

#include <algorithm>
#include <fmt/format.h>

#include "decision_json.hpp"

namespace det::sampler {
namespace {

std::string cache_header(std::string_view body) {
    return fmt::format("sampler-cache/1 {:08x}\n", crc32c(body));
}

std::filesystem::path cache_of(ExperimentLayout const& experiment) {
    return sampler_directory(experiment) / "cache";
}

bool is_final(TrialReport const& report) { return has_ended(report.progress) && report.unreadable.empty(); }

Json report_to_json(TrialReport const& report) {
    auto validations = Json::array();
    for (auto const& [steps, value] : report.validations)
        validations.push_back({steps, number_to_json(value)});
    Json json{{"trial", report.trial},
              {"hyperparameters", report.hyperparameters},
              {"progress", static_cast<int>(report.progress)},
              {"validations", std::move(validations)},
              {"last_validation", report.last_validation}};
    if (report.note) json["note"] = *report.note;
    return json;
}

TrialReport report_from_json(Json const& json) {
    TrialReport report{json.at("trial").get<std::uint32_t>(), JsonValue(json.at("hyperparameters"))};
    report.progress = static_cast<TrialProgress>(std::clamp(json.at("progress").get<int>(), 0, 5));
    for (auto const& each : json.at("validations"))
        report.validations.push_back(
            {each.at(0).get<std::uint64_t>(), number_from_json(each.at(1)).value_or(0)});
    report.last_validation = JsonValue(json.at("last_validation"));
    if (json.contains("note")) report.note = JsonValue(json["note"]);
    return report;
}

Result<SamplerState> load_cache(ExperimentLayout const& experiment, ExperimentSpec const& spec) {
    DET_TRY_ASSIGN(auto const text, read_trusted_file(cache_of(experiment)));
    if (text.empty()) return Error{codes::damaged, "the cache is empty"};
    auto const json = std::string_view(text).substr(std::min(text.find('\n'), text.size() - 1) + 1);
    if (text.substr(0, text.size() - json.size()) != cache_header(json))
        return Error{codes::damaged, "the cache is damaged, or of another version"};
    auto const body = try_parse_json(json);
    SamplerState state;
    DET_TRY_ASSIGN(bool const is_current,
                   decode_json("cache", [&] { return body.at("revision") == Json(spec.revision()); }));
    if (!is_current) return state;
    DET_TRY_ASSIGN(state.trials, decode_json("cache", [&] {
                       std::vector<TrialReport> trials;
                       for (auto const& each : body.at("trials")) trials.push_back(report_from_json(each));
                       return trials;
                   }));
    DET_TRY_ASSIGN(auto const decisions, decode_json("cache", [&] { return body.at("decisions"); }));
    for (auto const& each : decisions) {
        DET_TRY_ASSIGN(auto decision, decision_from_json(each));
        state.decisions.all.push_back(std::move(decision));
    }
    return state;
}

Status write_cache(ExperimentLayout const& experiment, ExperimentSpec const& spec,
                   SamplerState const& state) {
    auto trials = Json::array(), decisions = Json::array();
    for (auto const& report : state.trials) {
        if (is_final(report)) trials.push_back(report_to_json(report));
    }
    for (auto const& decision : state.decisions.all) decisions.push_back(decision_to_json(decision));
    auto const body = to_line(Json{
        {"revision", spec.revision()}, {"trials", std::move(trials)}, {"decisions", std::move(decisions)}});
    return write_file(cache_of(experiment), cache_header(body) + body);
}

bool has_trial_ended(std::uint32_t trial, SamplerState const& state) {
    return std::ranges::any_of(
        state.trials, [&](auto const& each) { return each.trial == trial && has_ended(each.progress); });
}

}  // namespace

void keep_new_prunes(Answer& answer, SamplerState const& state) {
    std::vector<std::uint32_t> kept;
    for (auto const trial : answer.prune) {
        bool const is_known = state.decisions.find_prune(trial) != nullptr || has_trial_ended(trial, state);
        if (!is_known && std::ranges::find(kept, trial) == kept.end()) kept.push_back(trial);
    }
    answer.prune = std::move(kept);
}

Result<SamplerState> load_state(ExperimentLayout const& experiment, ExperimentSpec const& spec) {
    // A new cache is written once it lacks this many trials, because writing takes longer than reading them.
    constexpr std::ptrdiff_t trials_behind_max = 8;
    auto cached = load_cache(experiment, spec);
    SamplerState known;
    if (cached) known = *std::move(cached);
    auto const known_trials = static_cast<std::ptrdiff_t>(known.trials.size());
    SamplerState state;
    DET_TRY_ASSIGN(state.decisions, load_decisions(experiment, std::move(known.decisions)));
    DET_TRY_ASSIGN(state.trials,
                   load_trial_reports(experiment, spec, state.decisions, std::move(known.trials)));
    // A cache that can't be written costs time only.
    if (std::ranges::count_if(state.trials, is_final) >= known_trials + trials_behind_max)
        (void)write_cache(experiment, spec, state);
    return state;
}

}  // namespace det::sampler
