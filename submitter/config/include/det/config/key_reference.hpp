#pragma once
#include <string>
#include <string_view>
#include <vector>

// The reference of all keys, for users and for editors. Rendered from the key tables.
namespace det::config {

enum class SchemaFor {
    user_files,  // a template or a configuration file
    complete,    // after the merge, with defaults
};

/// Renders a JSON Schema (draft-07) of the configuration: names, types, choices, limits, defaults, help. It
/// does not contain rules that involve several keys. Pure.
std::string render_json_schema(SchemaFor of);

/// A key that a configuration can have below another key.
struct KeyBelow {
    std::string name;
    std::string help;
    bool has_keys = false;     // its value is, or may be, a map with keys of its own
    bool takes_value = false;  // its value may be a number or a text
};

/// The keys below the key `path` ("resources", "checkpoint_storage.type"), at the top if it is empty, in the
/// order of the tables. Of a searcher or storage, the keys of all of its kinds. Empty if the path names no
/// section. Ignored keys are left out. Pure.
std::vector<KeyBelow> keys_below(std::string_view path);

/// The words that the key takes: its choices, the names of its kinds, or true and false. Empty if it takes
/// other values. Pure.
std::vector<std::string> words_for_key(std::string_view path);

/// Renders every key with its default and its help; keys without a default are comments. Parsing the text
/// gives the default configuration. Pure.
std::string render_defaults();

}  // namespace det::config
