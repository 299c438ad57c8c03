#include <det/foundation/files.hpp>
#include <det/foundation/list_numeric_names.hpp>
#include <det/foundation/text.hpp>
#include <det/foundation/trusted_file.hpp>
#include <det/protocol/json.hpp>
#include <det/sampler/decision_log.hpp>

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "decision_json.hpp"

namespace det::sampler {
namespace {

constexpr DocumentKind decision_kind{"sampler-decision", 1};
constexpr std::array<std::string_view, 4> question_names{"begin", "report", "trained", "exited"};

std::filesystem::path decisions_of(ExperimentLayout const& experiment) {
    return sampler_directory(experiment) / "decisions";
}

/// Copies of the decisions with which trials began, by the numbers of the trials.
std::filesystem::path begun_in(ExperimentLayout const& experiment) {
    return sampler_directory(experiment) / "begun";
}

/// For each trial that an answer prunes, a directory with an empty file by the number of the decision. It is
/// made before the decision is recorded, and proves nothing by itself.
std::filesystem::path prunes_of(ExperimentLayout const& experiment, std::uint32_t trial) {
    return sampler_directory(experiment) / "prunes" / std::to_string(trial);
}

Status announce_prunes(ExperimentLayout const& experiment, std::size_t number, Answer const& answer) {
    for (auto const trial : answer.prune) {
        auto const directory = prunes_of(experiment, trial);
        DET_TRY(make_directories(directory));
        DET_TRY(write_new_file(directory / std::to_string(number), ""));
    }
    return Ok{};
}

Question parse_question(std::string const& name) {
    auto const* const found = std::ranges::find(question_names, name);
    return found == question_names.end() ? Question::begin
                                         : static_cast<Question>(found - question_names.begin());
}

void add_lengths(Json& json, Answer const& answer) {
    if (!answer.close.empty()) json["close"] = answer.close;
    if (answer.can_begin) json["can_begin"] = *answer.can_begin;
    if (answer.state) json["state"] = *answer.state;
    for (auto const& [trial, length] : answer.lengths) json["lengths"][std::to_string(trial)] = length;
}

void read_lengths(Answer& answer, Json const& json) {
    answer.close = json.value("close", std::vector<std::uint32_t>());
    if (json.contains("can_begin")) answer.can_begin = json["can_begin"].get<std::uint32_t>();
    if (json.contains("state")) answer.state = JsonValue(json["state"]);
    if (!json.contains("lengths")) return;
    for (auto const& [trial, length] : json["lengths"].items()) {
        if (auto const index = parse_integer<std::uint32_t>(trial))
            answer.lengths[*index] = length.get<std::uint64_t>();
    }
}

}  // namespace

std::string_view to_string(Question question) { return question_names[static_cast<std::size_t>(question)]; }

Json decision_to_json(Decision const& decision) {
    auto const& answer = decision.answer;
    Json json{{"time", format_utc(decision.time)},
              {"job", decision.job},
              {"question", to_string(decision.question)},
              {"trial", decision.trial}};
    if (answer.hyperparameters) json["hyperparameters"] = *answer.hyperparameters;
    if (answer.note) json["note"] = *answer.note;
    if (answer.stop) json["stop"] = *answer.stop;
    if (!answer.prune.empty()) json["prune"] = answer.prune;
    add_lengths(json, answer);
    return json;
}

Result<Decision> decision_from_json(Json const& json) {
    return decode_json("a sampler's decision", [&] {
        Decision decision;
        decision.time = parse_utc(json.at("time").get<std::string>()).value_or(UtcTime{});
        decision.job = json.at("job").get<std::string>();
        decision.question = parse_question(json.at("question").get<std::string>());
        decision.trial = json.at("trial").get<std::uint32_t>();
        if (json.contains("hyperparameters"))
            decision.answer.hyperparameters = JsonValue(json["hyperparameters"]);
        if (json.contains("note")) decision.answer.note = JsonValue(json["note"]);
        if (json.contains("stop")) decision.answer.stop = json["stop"].get<std::string>();
        decision.answer.prune = json.value("prune", std::vector<std::uint32_t>());
        read_lengths(decision.answer, json);
        return decision;
    });
}

std::string render_decision(Decision const& decision) {
    return render_document(decision_kind, decision_to_json(decision));
}

Result<Decision> parse_decision(std::string_view text) {
    DET_TRY_ASSIGN(auto const body, parse_document(decision_kind, text));
    return decision_from_json(body);
}

Decision const* Decisions::find_begin(std::uint32_t trial) const {
    auto const found = std::ranges::find_if(
        all, [&](auto const& each) { return each.question == Question::begin && each.trial == trial; });
    return found == all.end() ? nullptr : &*found;
}

std::string const* Decisions::find_stop() const {
    for (auto const& each : all) {
        if (each.answer.stop) return &*each.answer.stop;
    }
    return nullptr;
}

std::uint64_t Decisions::count_lengths(std::uint32_t trial) const {
    return static_cast<std::uint64_t>(
        std::ranges::count_if(all, [&](auto const& each) { return each.answer.lengths.contains(trial); }));
}

std::optional<std::uint64_t> Decisions::find_length(std::uint32_t trial) const {
    for (auto each = all.rbegin(); each != all.rend(); ++each) {
        auto const found = each->answer.lengths.find(trial);
        if (found != each->answer.lengths.end()) return found->second;
    }
    return std::nullopt;
}

bool Decisions::is_closed(std::uint32_t trial) const {
    return std::ranges::any_of(all, [&](auto const& each) {
        return each.answer.stop || std::ranges::find(each.answer.close, trial) != each.answer.close.end();
    });
}

JsonValue const* Decisions::find_state() const {
    for (auto each = all.rbegin(); each != all.rend(); ++each) {
        if (each->answer.state) return &*each->answer.state;
    }
    return nullptr;
}

Decision const* Decisions::find_prune(std::uint32_t trial) const {
    auto const found = std::ranges::find_if(all, [&](auto const& each) {
        return std::ranges::find(each.answer.prune, trial) != each.answer.prune.end();
    });
    return found == all.end() ? nullptr : &*found;
}

std::filesystem::path sampler_directory(ExperimentLayout const& experiment) {
    return experiment.path() / "sampler";
}

Result<Decisions> load_decisions(ExperimentLayout const& experiment, Decisions known) {
    auto const directory = decisions_of(experiment);
    DET_TRY_ASSIGN(auto const numbers, list_numeric_names(directory));
    // A file that was made during the listing may lack in it although a later one is there.
    auto const count = numbers.empty() ? std::size_t{0} : std::size_t{numbers.back()} + 1;
    while (known.all.size() < count) {
        auto const path = directory / std::to_string(known.all.size());
        auto const text = read_trusted_file(path);
        if (!text && text.error().code == codes::no_such_file)
            return Error{codes::damaged, fmt::format("decision {} of the sampler is missing in '{}'",
                                                     known.all.size(), directory.string())};
        if (!text) return text.error();
        auto decision = parse_decision(*text);
        if (!decision)
            return std::move(decision).error().while_doing(fmt::format("reading '{}'", path.string()));
        known.all.push_back(*std::move(decision));
    }
    return known;
}

Result<bool> record_decision(ExperimentLayout const& experiment, Decisions const& decisions,
                             Decision const& decision) {
    auto const directory = decisions_of(experiment);
    DET_TRY(make_directories(directory));
    auto const text = render_decision(decision);
    DET_TRY(announce_prunes(experiment, decisions.all.size(), decision.answer));
    DET_TRY_ASSIGN(bool const is_recorded, write_new_file(directory / std::to_string(decisions.all.size()),
                                                          text, 0600, Durability::power_loss));
    // The name must be on the disk before the caller acts.
    if (is_recorded) DET_TRY(sync_directory(directory));
    if (is_recorded && decision.answer.hyperparameters && make_directories(begun_in(experiment)))
        (void)write_file(begun_in(experiment) / std::to_string(decision.trial), text);  // spares a search
    return is_recorded;
}

Result<std::optional<Decision>> find_begin(ExperimentLayout const& experiment, std::uint32_t trial) {
    if (auto const text = read_trusted_file(begun_in(experiment) / std::to_string(trial))) {
        auto copy = parse_decision(*text);
        if (copy && copy->trial == trial) return std::optional(*std::move(copy));
    }
    DET_TRY_ASSIGN(auto const decisions, load_decisions(experiment));
    auto const* found = decisions.find_begin(trial);
    return found == nullptr ? std::nullopt : std::optional(*found);
}

Result<std::optional<Decision>> find_prune(ExperimentLayout const& experiment, std::uint32_t trial) {
    DET_TRY_ASSIGN(auto const numbers, list_numeric_names(prunes_of(experiment, trial)));
    for (auto const number : numbers) {
        auto const text = read_trusted_file(decisions_of(experiment) / std::to_string(number));
        if (!text && text.error().code == codes::no_such_file) continue;  // it was never recorded
        if (!text) return text.error();
        DET_TRY_ASSIGN(auto decision, parse_decision(*text));
        auto const& prune = decision.answer.prune;
        if (std::ranges::find(prune, trial) != prune.end()) return std::optional(std::move(decision));
    }
    return std::optional<Decision>();
}

}  // namespace det::sampler
