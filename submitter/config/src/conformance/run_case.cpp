#include <fmt/format.h>
#include <regex>

#include "complaints.hpp"
#include "derived.hpp"

namespace det::config {
namespace {

using Phase = Checker::Phase;

Failure check_accepted(ConformanceCase const& tested, std::vector<std::string> const& urls, Phase phase) {
    for (auto const& url : urls) {
        DET_TRY_ASSIGN(auto const schema, require_schema(url));
        auto const lines = complaints(tested.document, schema, phase);
        if (!lines.empty()) return fmt::format("{} refuses it: {}", schema_name(url), lines.front());
    }
    return std::nullopt;
}

/// Some line has what the pattern looks for; or why not.
Failure find_match(std::string const& pattern, std::vector<std::string> const& lines) {
    try {
        std::regex const expression(pattern);
        for (auto const& line : lines) {
            if (std::regex_search(line, expression)) return std::nullopt;
        }
    } catch (std::regex_error const& error) {
        return fmt::format("'{}' is no regular expression: {}", pattern, error.what());
    }
    return fmt::format("nothing matches '{}', found {}", pattern, fmt::join(lines, " | "));
}

Failure check_refused(ConformanceCase const& tested, ExpectedErrors const& expected, Phase phase) {
    for (auto const& [url, patterns] : expected) {
        DET_TRY_ASSIGN(auto const schema, require_schema(url));
        auto const lines = complaints(tested.document, schema, phase);
        if (lines.empty()) return fmt::format("{} accepts it", schema_name(url));
        for (auto const& pattern : patterns) {
            if (auto failure = find_match(pattern, lines))
                return fmt::format("{}: {}", schema_name(url), *failure);
        }
    }
    return std::nullopt;
}

/// Determined's own tests of its test machinery, and Kubernetes' rules for pods: none of our matter.
std::string why_skipped(ConformanceCase const& tested) {
    auto urls = tested.sane_as;
    urls.insert(urls.end(), tested.complete_as.begin(), tested.complete_as.end());
    for (auto const* errors : {&tested.sanity_errors, &tested.completeness_errors}) {
        for (auto const& [url, patterns] : *errors) urls.push_back(url);
    }
    urls.push_back(tested.default_as);
    urls.push_back(tested.merge_as);
    for (auto const& url : urls) {
        if (schema_name(url).starts_with("test-")) return "a schema for tests of Determined's own";
    }
    auto const* environment = tested.document.find("environment");
    auto const& section = environment != nullptr ? *environment : tested.document;
    bool const has_errors = !tested.sanity_errors.empty() || !tested.completeness_errors.empty();
    if (section.find("pod_spec") != nullptr && has_errors) return "Kubernetes' rules for pods";
    return "";
}

}  // namespace

CaseOutcome run_case(ConformanceCase const& tested) {
    using Verdict = CaseOutcome::Verdict;
    if (auto why = why_skipped(tested); !why.empty()) return {Verdict::skipped, std::move(why)};
    for (auto const& failure : {check_accepted(tested, tested.sane_as, Phase::sanity),
                                check_accepted(tested, tested.complete_as, Phase::completeness),
                                check_accepted(tested, tested.creatable_as, Phase::creation),
                                check_refused(tested, tested.sanity_errors, Phase::sanity),
                                check_refused(tested, tested.completeness_errors, Phase::completeness),
                                check_refused(tested, tested.creation_errors, Phase::creation),
                                check_defaults(tested), check_merged(tested)}) {
        if (failure) return {Verdict::not_ok, *failure};
    }
    return {};
}

}  // namespace det::config
