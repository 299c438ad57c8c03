#include <det/protocol/json.hpp>
#include <det/yaml/parse.hpp>
#include <det/yaml/render.hpp>

#include <fmt/format.h>
#include <optional>
#include <regex>

#include "check.hpp"
#include "conformance_case.hpp"
#include "determined_schemas.hpp"
#include "merge.hpp"
#include "schema/tables.hpp"

namespace det::config::conformance {
namespace {

using yaml::Node;
using Phase = Checker::Phase;

/// Why a case fails; nothing if it passes.
using Failure = std::optional<std::string>;

std::vector<std::string> render(std::vector<Violation> const& violations) {
    std::vector<std::string> lines;
    for (auto const& [path, message] : violations) {
        auto const separator = path.empty() || path.starts_with('[') ? "" : ".";
        lines.push_back(fmt::format("<config>{}{}: {}", separator, path, message));
    }
    return lines;
}

/// Reports a document that is not the member of a union which the URL names.
void check_member(Node const& document, NamedSchema const& schema, std::vector<Violation>& violations) {
    auto const tag = schema.type->tag.empty() ? "type" : schema.type->tag;
    auto const* found = document.find(tag);
    bool const is_member = found != nullptr && found->is_text() && *found->text() == schema.member;
    if (schema.member.empty() || document.is_null() || is_member) return;
    violations.push_back({std::string(tag), fmt::format("value must be \"{}\"", schema.member)});
}

Result<NamedSchema, std::string> require_schema(std::string_view url) {
    if (auto schema = find_schema(schema_name(url))) return *schema;
    return fmt::format("there is no schema '{}'", url);
}

std::vector<std::string> messages_of(Node const& document, NamedSchema const& schema, Checker::Phase phase) {
    std::vector<Violation> violations;
    Checker checker(phase, &violations);
    checker.check(document, *schema.type, Path{}, document.location());
    check_member(document, schema, violations);
    return render(violations);
}

Failure check_accepted(ConformanceCase const& tested, std::vector<std::string> const& urls, Phase phase) {
    for (auto const& url : urls) {
        DET_TRY_ASSIGN(auto const schema, require_schema(url));
        auto const lines = messages_of(tested.document, schema, phase);
        if (!lines.empty()) return fmt::format("{} refuses it: {}", schema_name(url), lines.front());
    }
    return std::nullopt;
}

/// Fails if no line matches the pattern.
Failure require_match(std::string const& pattern, std::vector<std::string> const& lines) {
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
        auto const lines = messages_of(tested.document, schema, phase);
        if (lines.empty()) return fmt::format("{} accepts it", schema_name(url));
        for (auto const& pattern : patterns) {
            if (auto failure = require_match(pattern, lines))
                return fmt::format("{}: {}", schema_name(url), *failure);
        }
    }
    return std::nullopt;
}

/// \return Why the case is skipped: it tests Determined's own test framework or Kubernetes' rules for pods.
/// Empty if it is run.
std::string why_skipped(ConformanceCase const& tested) {
    auto urls = tested.sane_as;
    urls.insert(urls.end(), tested.complete_as.begin(), tested.complete_as.end());
    for (auto const* errors : {&tested.sanity_errors, &tested.completeness_errors}) {
        for (auto const& [url, patterns] : *errors) urls.push_back(url);
    }
    urls.push_back(tested.default_as);
    urls.push_back(tested.merge_as);
    for (auto const& url : urls) {
        if (schema_name(url).starts_with("test-")) return "a schema of Determined's own test framework";
    }
    auto const* environment = tested.document.find("environment");
    auto const& section = environment != nullptr ? *environment : tested.document;
    bool const has_errors = !tested.sanity_errors.empty() || !tested.completeness_errors.empty();
    if (section.find("pod_spec") != nullptr && has_errors) return "Kubernetes' rules for pods";
    return "";
}

/// Checks that the value is the same after it is written and read again.
Failure check_round_trip(Node const& value, schema::Type const& type) {
    auto const text = yaml::render_yaml(value);
    auto const again = yaml::parse_document(text, "round trip");
    if (!again) return "the rendered document can't be parsed";
    if (auto difference = find_difference(value, normalise(*again, type)))
        return "after a round trip: " + *difference;
    return std::nullopt;
}

/// Adds the values that only the creation of an experiment sets. Cases write "*" for them.
Node with_runtime_defaults(Node const& value, schema::Type const& type) {
    constexpr std::string_view written =
        "name: '*'\n"
        "reproducibility: {experiment_seed: '*'}\n"
        "environment: {image: {cpu: '*', cuda: '*', rocm: '*'}}\n";
    auto defaults = *yaml::parse_document(written, "runtime defaults");
    if (&type != &schema::experiment) {
        auto const* part = &type == &schema::environment       ? defaults.find("environment")
                           : &type == &schema::reproducibility ? defaults.find("reproducibility")
                                                               : nullptr;
        defaults = part != nullptr ? *part : Node();
    }
    Diagnostics ignored;
    return merge(value, defaults, &type, "", ignored);
}

/// Old cases have `defaulted` without `default_as`: for these only the round trip is checked.
Failure check_defaults(ConformanceCase const& tested) {
    bool const is_compared = !tested.default_as.empty();
    if (!is_compared && (tested.defaulted.is_null() || tested.sane_as.empty())) return std::nullopt;
    DET_TRY_ASSIGN(auto const schema,
                   require_schema(is_compared ? tested.default_as : tested.sane_as.front()));
    auto const& type = *schema.type;
    auto const plain = normalise(tested.document, type);
    auto const found = add_defaults(with_runtime_defaults(plain, type), type);
    for (auto const* each : {&plain, &found}) {
        if (auto failure = check_round_trip(*each, type)) return failure;
    }
    if (!is_compared) return std::nullopt;
    return find_difference(as_written_by_determined(tested.defaulted, type),
                           as_written_by_determined(found, type));
}

Failure check_merged(ConformanceCase const& tested) {
    if (tested.merge_as.empty()) return std::nullopt;
    DET_TRY_ASSIGN(auto const schema, require_schema(tested.merge_as));
    auto const& type = *schema.type;
    for (auto const* side : {&tested.document, &tested.merge_src}) {
        auto const lines = messages_of(*side, schema, Checker::Phase::sanity);
        if (!lines.empty()) return fmt::format("one side is not valid: {}", lines.front());
    }
    Diagnostics problems;
    auto const found =
        merge(normalise(tested.document, type), normalise(tested.merge_src, type), &type, "", problems);
    if (problems.has_errors()) return problems.sorted().front().error.message;
    return find_difference(as_written_by_determined(tested.merged, type),
                           as_written_by_determined(found, type));
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

}  // namespace det::config::conformance
