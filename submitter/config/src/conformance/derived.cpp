#include "derived.hpp"

#include <det/protocol/json.hpp>
#include <det/yaml/parse.hpp>
#include <det/yaml/render.hpp>

#include <fmt/format.h>

#include "../defaults.hpp"
#include "../merge.hpp"
#include "../normalise.hpp"
#include "../schema/tables.hpp"
#include "compare.hpp"
#include "complaints.hpp"

namespace det::config {
namespace {

using yaml::Node;

/// Written out and read again it is the same.
Failure check_round_trip(Node const& value, schema::Type const& type) {
    auto const text = yaml::render_yaml(value);
    auto const again = yaml::parse_document(text, "round trip");
    if (!again) return "what is written out can't be read again";
    if (auto told = find_difference(value, normalise(*again, type))) return "read again: " + *told;
    return std::nullopt;
}

/// What only the one who creates an experiment knows, and no case can: "*" stands for it.
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

}  // namespace

/// Old cases say `defaulted` without `default_as`: then only what is written is read again.
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
        auto const lines = complaints(*side, schema, Checker::Phase::sanity);
        if (!lines.empty()) return fmt::format("one side is refused: {}", lines.front());
    }
    Diagnostics problems;
    auto const found =
        merge(normalise(tested.document, type), normalise(tested.merge_src, type), &type, "", problems);
    if (problems.has_errors()) return problems.sorted().front().error.message;
    return find_difference(as_written_by_determined(tested.merged, type),
                           as_written_by_determined(found, type));
}

}  // namespace det::config
