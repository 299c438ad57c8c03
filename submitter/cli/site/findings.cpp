#include "site/findings.hpp"

#include <det/foundation/count_text.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace det::cli {
namespace {

using site::Finding;

std::string_view word_of(Finding const& finding) {
    return finding.severity == Finding::Severity::change ? "change" : "note";
}

}  // namespace

std::size_t count_changes(std::vector<Finding> const& findings) {
    return static_cast<std::size_t>(
        std::ranges::count(findings, Finding::Severity::change, &Finding::severity));
}

Json findings_json(std::vector<Finding> const& findings) {
    auto rows = Json::array();
    for (auto const& finding : findings) {
        rows.push_back({{"weight", word_of(finding)},
                        {"subject", finding.subject},
                        {"what", finding.what},
                        {"why", finding.why},
                        {"file", finding.file},
                        {"change", finding.change}});
    }
    return rows;
}

std::string findings_text(std::vector<Finding> const& findings) {
    std::string text;
    for (auto const& finding : findings) {
        text += fmt::format("{}: {}: {}\n", word_of(finding), escape_control(finding.subject),
                            escape_control(finding.what));
        text += fmt::format("  why: {}\n", escape_control(finding.why));
        if (!finding.change.empty())
            text += fmt::format("  in {}: {}\n", finding.file, escape_control(finding.change));
    }
    return text;
}

std::string changes_text(std::size_t changes) {
    if (changes == 0) return "nothing has to change";
    return count_text(changes, "thing") + " to change";
}

}  // namespace det::cli
