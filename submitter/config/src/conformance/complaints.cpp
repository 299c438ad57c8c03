#include "complaints.hpp"

#include <fmt/format.h>

namespace det::config {
namespace {

using yaml::Node;

std::vector<std::string> render(std::vector<Violation> const& violations) {
    std::vector<std::string> lines;
    for (auto const& [path, words] : violations) {
        auto const separator = path.empty() || path.starts_with('[') ? "" : ".";
        lines.push_back(fmt::format("<config>{}{}: {}", separator, path, words));
    }
    return lines;
}

/// That the document is the one member of a union which the URL names.
void check_member(Node const& document, NamedSchema const& schema, std::vector<Violation>& violations) {
    auto const tag = schema.type->tag.empty() ? "type" : schema.type->tag;
    auto const* found = document.find(tag);
    bool const is_member = found != nullptr && found->is_text() && *found->text() == schema.member;
    if (schema.member.empty() || document.is_null() || is_member) return;
    violations.push_back({std::string(tag), fmt::format("value must be \"{}\"", schema.member)});
}

}  // namespace

Result<NamedSchema, std::string> require_schema(std::string_view url) {
    if (auto schema = find_schema(schema_name(url))) return *schema;
    return fmt::format("there is no schema '{}'", url);
}

std::vector<std::string> complaints(Node const& document, NamedSchema const& schema, Checker::Phase phase) {
    std::vector<Violation> violations;
    Checker checker(phase, &violations);
    checker.check(document, *schema.type, Path{}, document.place());
    check_member(document, schema, violations);
    return render(violations);
}

}  // namespace det::config
