#include <det/journal/superseded.hpp>

#include <algorithm>

namespace det::journal {

void RunBeginning::add(Record const& record) {
    if (auto const* started = std::get_if<RunStarted>(&record)) {
        if (!started->latest_checkpoint.empty()) resumed_from = started->steps_completed;
    } else if (auto const* continued = std::get_if<ContinuedFromMemory>(&record)) {
        resumed_from = continued->steps_completed;
    } else if (auto const* report = std::get_if<MetricsReported>(&record)) {
        first_steps.try_emplace(report->group, report->steps_completed);
    }
}

void RunBeginning::add(std::vector<MetricsReported> const& reports) {
    for (auto const& report : reports) first_steps.try_emplace(report.group, report.steps_completed);
}

bool CutOff::supersedes(std::string_view group, std::uint64_t steps_completed) const {
    auto const first = first_superseded_step(group);
    return first != none && steps_completed >= first;
}

std::uint64_t CutOff::first_superseded_step(std::string_view group) const {
    auto const found = by_group_.find(group);
    return found == by_group_.end() ? all_groups_ : std::min(found->second, all_groups_);
}

void CutOff::lower_to(RunBeginning const& later_run) {
    if (later_run.resumed_from) {
        if (*later_run.resumed_from < none) all_groups_ = std::min(all_groups_, *later_run.resumed_from + 1);
        return;
    }
    for (auto const& [group, step] : later_run.first_steps) {
        auto& first = by_group_.try_emplace(group, none).first->second;
        first = std::min(first, step);
    }
}

std::vector<CutOff> find_cut_offs(std::span<RunBeginning const> runs) {
    std::vector<CutOff> cut_offs(runs.size());
    for (auto run = runs.size(); run > 1; --run) {
        cut_offs[run - 2] = cut_offs[run - 1];
        cut_offs[run - 2].lower_to(runs[run - 1]);
    }
    return cut_offs;
}

}  // namespace det::journal
