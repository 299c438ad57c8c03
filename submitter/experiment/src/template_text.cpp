#include <det/experiment/template_text.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/yaml/render.hpp>

namespace det::experiment {
namespace {

yaml::Node const* find_value(yaml::Node const& document, std::span<std::string const> path) {
    auto const* value = &document;
    for (auto const& key : path) {
        value = value->find(key);
        if (value == nullptr) return nullptr;
    }
    return value;
}

std::string top_comments(std::string_view text) {
    std::string comments;
    for (auto const line : split_lines(text)) {
        if (!line.starts_with('#')) break;
        comments += std::string(line) + "\n";
    }
    return comments;
}

/// Returns candidate texts with the new value. The first one keeps most of the old text. The caller checks
/// that a candidate parses to the wanted document.
std::vector<std::string> candidates(CheckedTemplate const& old, config::Layer const& change,
                                    yaml::Node const& wanted) {
    std::vector<std::string> texts;
    auto const* before = find_value(old.document, change.replaces);
    auto const* after = find_value(wanted, change.replaces);
    bool const is_scalar = before != nullptr && after != nullptr && before->is_scalar() && after->is_scalar();
    if (is_scalar && before->location().is_written()) {
        auto const& place = before->location();
        auto text = place.source->text();
        text.replace(place.source->offset(place.line, place.column), place.width,
                     trim(yaml::render_yaml(*after)));
        texts.push_back(std::move(text));
    }
    auto const separator = old.text.empty() || old.text.ends_with('\n') ? "" : "\n";
    texts.push_back(old.text + separator + yaml::render_yaml(change.document));
    return texts;
}

}  // namespace

Result<CheckedTemplate, Diagnostics> check_template(std::string text, std::string const& origin) {
    DET_TRY_ASSIGN(auto document, config::parse_layer(text, origin));
    auto found = config::mask_secrets(config::check_sanity(document), document);
    if (found.has_errors()) return found;
    return CheckedTemplate{std::move(text), std::move(document), std::move(found)};
}

Result<CheckedTemplate, Diagnostics> read_template(std::filesystem::path const& file) {
    auto text = read_file(file, template_limit_bytes);
    if (!text) return std::move(text).error().while_doing("reading the template");
    return check_template(*std::move(text), file.string());
}

std::string shown_text(CheckedTemplate const& of) {
    auto const masked = config::mask_secrets(of.document);
    return masked == of.document ? of.text : yaml::render_yaml(masked);
}

Result<std::string, Diagnostics> with_value(CheckedTemplate const& old, std::string_view assignment) {
    DET_TRY_ASSIGN(auto const change, config::parse_override(assignment));
    DET_TRY_ASSIGN(auto const wanted, config::apply_override(old.document, change));
    // Checks `wanted` and not the new text, so that an error refers to the command line.
    if (auto const found = config::check_sanity(wanted); found.has_errors())
        return config::mask_secrets(found, wanted);
    for (auto& text : candidates(old, change, wanted)) {
        auto const document = config::parse_layer(text, "new text");
        if (document && *document == wanted) return std::move(text);
    }
    return top_comments(old.text) + yaml::render_yaml(wanted);
}

}  // namespace det::experiment
