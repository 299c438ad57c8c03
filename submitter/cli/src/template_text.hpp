#pragma once
#include <det/config/layers.hpp>
#include <det/foundation/diagnostic.hpp>
#include <det/foundation/result.hpp>

#include <filesystem>
#include <string>
#include <string_view>

namespace det::cli {

/// A template that may be stored, and what there is to say of it all the same.
struct SaneTemplate {
    std::string text;
    yaml::Node document;
    Diagnostics warnings;
};

/// Everything that is wrong with it, or the template. Pure.
Result<SaneTemplate, Diagnostics> check_template(std::string text, std::string const& origin);
Result<SaneTemplate, Diagnostics> read_template(std::filesystem::path const& file);

/// What people are shown of a template: its text, or where secrets stand in it the values alone, masked.
/// Pure.
std::string shown_text(SaneTemplate const& of);

/// The text with the value replaced that `assignment` ("a.b=value") names. Comments stay where they can: all
/// of them where one scalar is replaced or a section is added, else those at the top. Pure.
Result<std::string, Diagnostics> with_value(SaneTemplate const& old, std::string_view assignment);

}  // namespace det::cli
