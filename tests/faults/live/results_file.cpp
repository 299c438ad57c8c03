#include "results_file.hpp"

#include <det/foundation/clock.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "fault_cost.hpp"

namespace det::faults {
namespace {

Json begin_line(RoundPlan const& plan, std::string const& release) {
    return Json{{"at", format_utc(SystemClock().now())},
                {"seed", plan.seed},
                {"release", release},
                {"kind", std::string(plan.kind->name)},
                {"fault", plan.fault == nullptr ? "" : std::string(plan.fault->name)},
                {"moment", plan.moment()}};
}

/// Rounds, and how often each verdict was tried and was wrong.
struct Tally {
    int rounds = 0, injected = 0;
    std::map<std::string, std::pair<int, int>> verdicts;  // tried, wrong

    void add(Json const& line) {
        ++rounds;
        if (line.value("injected", false)) ++injected;
        for (auto const& [name, verdict] : line["verdicts"].items()) {
            auto const text = verdict.get<std::string>();
            if (text == "not tried") continue;
            ++verdicts[name].first;
            if (!text.empty()) ++verdicts[name].second;
        }
    }
};

constexpr std::string_view columns[] = {"state", "steps",       "metrics",   "result", "hang",
                                        "cause", "resurrected", "remaining", "books"};

std::string render_table(std::string const& title, std::map<std::string, Tally> const& tallies) {
    auto text = fmt::format("| {} | rounds | faults that took place", title);
    for (auto const column : columns) text += fmt::format(" | {}", column);
    text += " |\n|---|---|---";
    for (std::size_t i = 0; i < std::size(columns); ++i) text += "|---";
    text += "|\n";
    for (auto const& [name, tally] : tallies) {
        text += fmt::format("| {} | {} | {}", name, tally.rounds, tally.injected);
        for (auto const column : columns) {
            auto const found = tally.verdicts.find(std::string(column));
            auto const [tried, wrong] = found == tally.verdicts.end() ? std::pair(0, 0) : found->second;
            text += tried == 0 ? " | -" : fmt::format(" | {} of {}", tried - wrong, tried);
        }
        text += " |\n";
    }
    return text;
}

}  // namespace

std::vector<Json> read_rounds(std::filesystem::path const& path) {
    std::vector<Json> rounds;
    auto const text = read_file(path).value_or("");
    for (auto const line : split_lines(text)) {
        auto json = try_parse_json(line);  // the last line may be torn
        if (json.is_object() && json.contains("seed") && json.contains("verdicts"))
            rounds.push_back(std::move(json));
    }
    return rounds;
}

Result<std::set<std::uint32_t>> ResultsFile::seeds_of(std::string const& release) const {
    std::set<std::uint32_t> seeds;
    for (auto const& line : read_rounds(path_))
        if (line.value("release", "") == release) seeds.insert(line["seed"].get<std::uint32_t>());
    return seeds;
}

Status ResultsFile::append(Json const& round) {
    std::lock_guard const lock(mutex_);
    UniqueFd const file(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    if (file.get() < 0) return Error{codes::process, "can't write " + path_.string()};
    return write_all(file.get(), to_line(round) + "\n", "the results");
}

Json describe_round(RoundPlan const& plan, std::string const& release, Observation const& observation,
                    std::map<std::string, std::string> const& verdicts, std::string const& causes,
                    std::chrono::seconds took) {
    auto line = begin_line(plan, release);
    line["injected"] = observation.injected;
    line["runs"] = causes;
    line["activations"] = observation.activations;
    line["state"] = observation.state;
    line["took_s"] = took.count();
    if (!observation.notes.empty()) line["notes"] = observation.notes;
    if (auto const cost = measure_cost(plan, observation)) line["cost"] = to_json(*cost);
    line["verdicts"] = verdicts;
    return line;
}

Json describe_broken_round(RoundPlan const& plan, std::string const& release, std::string const& error) {
    auto line = begin_line(plan, release);
    line["verdicts"] = Json{{"state", error.empty() ? "unknown error" : error}};
    return line;
}

bool has_passed(Json const& round) {
    for (auto const& verdict : round["verdicts"]) {
        auto const text = verdict.get<std::string>();
        if (!text.empty() && text != "not tried") return false;
    }
    return true;
}

std::string summarise(std::filesystem::path const& file) {
    std::map<std::string, Tally> by_release, by_kind, by_fault;
    for (auto const& line : read_rounds(file)) {
        if (line["seed"].get<std::uint32_t>() >= cost_seed_begin) continue;  // see summarise_costs()
        by_release[line.value("release", "")].add(line);
        by_kind[line.value("kind", "")].add(line);
        by_fault[line.value("fault", "")].add(line);
    }
    return render_table("release", by_release) + "\n" + render_table("training", by_kind) + "\n" +
           render_table("fault", by_fault);
}

}  // namespace det::faults
