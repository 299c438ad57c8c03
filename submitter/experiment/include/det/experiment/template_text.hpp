#pragma once
#include <det/config/layers.hpp>
#include <det/foundation/diagnostic.hpp>
#include <det/foundation/result.hpp>

#include <filesystem>
#include <string>
#include <string_view>

namespace det::experiment {

/// A valid template and its warnings.
struct CheckedTemplate {
    std::string text;
    yaml::Node document;
    Diagnostics warnings;
};

/// Parses and checks a template: returns all errors or the template. Pure.
Result<CheckedTemplate, Diagnostics> check_template(std::string text, std::string const& origin);
Result<CheckedTemplate, Diagnostics> read_template(std::filesystem::path const& file);

/// The text to show: the template's text, or its values with masked secrets if it has any. Pure.
std::string shown_text(CheckedTemplate const& of);

/// Sets the value that `assignment` ("a.b=value") names. Comments are kept if one scalar is replaced or a
/// section is added, else only those at the top. Pure.
Result<std::string, Diagnostics> with_value(CheckedTemplate const& old, std::string_view assignment);

}  // namespace det::experiment
