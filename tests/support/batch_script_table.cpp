// Compares the results of a batch script that was submitted in several ways.
#include <det/foundation/text.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iterator>
#include <optional>

#include "batch_script.hpp"

namespace det::test {
namespace {

std::vector<std::string> sorted_lines(std::string const& text) {
    std::vector<std::string> lines;
    for (auto const line : split_lines(text)) lines.emplace_back(line);
    std::ranges::sort(lines);
    return lines;
}

/// The first line, in alphabetical order, that only one of the texts has.
std::optional<std::string> different_line(std::string const& one, std::string const& other) {
    auto const lines = sorted_lines(one), others = sorted_lines(other);
    std::vector<std::string> different;
    std::ranges::set_symmetric_difference(lines, others, std::back_inserter(different));
    if (different.empty()) return std::nullopt;
    return different.front();
}

/// Whether a text is the output of a training. After a preemption it is another one in any case.
bool is_log(std::string const& name, std::string const& text) {
    return name.find("JOB") != std::string::npos || text.starts_with("step ") ||
           text.find("\nstep ") != std::string::npos;
}

/// The files whose contents two undisturbed runs do not have in common.
std::set<std::string> varying_files(BatchScriptResult const& one, BatchScriptResult const& other) {
    std::set<std::string> names;
    for (auto const& [name, text] : one.files) {
        auto const found = other.files.find(name);
        if (found == other.files.end() || different_line(text, found->second)) names.insert(name);
    }
    return names;
}

std::string joined(std::vector<std::string> const& differences, std::string const& equal) {
    return differences.empty() ? equal : fmt::format("{}", fmt::join(differences, "; "));
}

}  // namespace

std::vector<std::string> differences(BatchScriptResult const& expected, BatchScriptResult const& found,
                                     Disturbance kind, std::set<std::string> const& varying) {
    std::vector<std::string> result;
    if (found.exit_code != expected.exit_code)
        result.push_back(fmt::format("exit code {}, not {}", found.exit_code, expected.exit_code));
    if (found.ranks != expected.ranks)
        result.push_back(fmt::format("{} ranks, not {}", found.ranks, expected.ranks));
    for (auto const& [name, text] : expected.files) {
        auto const other = found.files.find(name);
        if (other == found.files.end()) {
            result.push_back("no file " + name);
        } else if (!varying.contains(name) && !(kind == Disturbance::preemption && is_log(name, text))) {
            if (auto const line = different_line(text, other->second))
                result.push_back(fmt::format("{} differs at '{}'", name, *line));
        }
    }
    for (auto const& [name, text] : found.files) {
        if (!expected.files.contains(name)) result.push_back(fmt::format("file {} too", name));
    }
    return result;
}

std::string compare_submissions(BatchScript const& script, Rows rows) {
    auto const plain = script.run(Submission::sbatch, Disturbance::none);
    std::set<std::string> varying;
    if (rows == Rows::all) varying = varying_files(plain, script.run(Submission::sbatch, Disturbance::none));
    auto table = fmt::format("{:<22} | {:<24} | {:<24} | {}\n", "submitted by", "as without us",
                             "survives preemption", "lost");
    struct Row {
        Submission submission;
        std::string_view name;
    };
    for (auto const& [submission, name] :
         {Row{Submission::sbatch, "sbatch"}, Row{Submission::det_option, "sbatch, --det"},
          Row{Submission::requeue, "sbatch, --det-requeue"},
          Row{Submission::experiment, "experiment create"}}) {
        if (rows == Rows::experiment && submission != Submission::experiment) continue;
        std::string undisturbed = "-";
        if (submission != Submission::sbatch)
            undisturbed = joined(
                differences(plain, script.run(submission, Disturbance::none), Disturbance::none, varying),
                "yes");
        auto const preempted = script.run(submission, Disturbance::preemption);
        auto const survived = differences(plain, preempted, Disturbance::preemption, varying);
        std::string lost = preempted.is_overwritten ? ", output" : "";
        lost = plain.steps == 0 ? "unknown" + lost
                                : fmt::format("{} steps", preempted.steps - plain.steps) + lost;
        if (!survived.empty()) lost = "-";
        table += fmt::format("{:<22} | {:<24} | {:<24} | {}\n", name, undisturbed,
                             survived.empty() ? fmt::format("yes, {} starts", preempted.starts)
                                              : "no: " + joined(survived, ""),
                             lost);
    }
    return table;
}

}  // namespace det::test
