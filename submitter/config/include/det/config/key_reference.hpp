#pragma once
#include <string>

// The reference of all keys, for users and for editors. Rendered from the key tables.
namespace det::config {

enum class SchemaFor {
    user_files,  // a template or a configuration file
    complete,    // after the merge, with defaults
};

/// Renders a JSON Schema (draft-07) of the configuration: names, types, choices, limits, defaults, help. It
/// does not contain rules that involve several keys. Pure.
std::string render_json_schema(SchemaFor of);

/// Renders every key with its default and its help; keys without a default are comments. Parsing the text
/// gives the default configuration. Pure.
std::string render_defaults();

}  // namespace det::config
