#pragma once
#include <det/config/layers.hpp>
#include <det/foundation/diagnostic.hpp>
#include <det/foundation/result.hpp>

#include <filesystem>
#include <string>
#include <string_view>

namespace det::experiment {

/// A template file that is larger is refused.
inline constexpr std::size_t template_limit_bytes = std::size_t{1} << 20;

/// A valid template and its warnings.
struct CheckedTemplate {
    std::string text;
    yaml::Node document;
    Diagnostics warnings;
};

/// Parses and checks a template: returns all errors or the template. Pure.
Result<CheckedTemplate, Diagnostics> check_template(std::string text, std::string const& origin);
Result<CheckedTemplate, Diagnostics> read_template(std::filesystem::path const& file);

/// Returns the text to show: the template's text, or, if it has secrets, its values with the secrets masked.
/// Pure.
std::string shown_text(CheckedTemplate const& of);

/// Returns the template's text with the value that `assignment` ("a.b=value") sets. Keeps all comments if a
/// scalar is replaced or a section is added, else only the comments at the top. Pure.
Result<std::string, Diagnostics> with_value(CheckedTemplate const& old, std::string_view assignment);

}  // namespace det::experiment
