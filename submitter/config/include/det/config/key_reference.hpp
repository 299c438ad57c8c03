#pragma once
#include <string>

// What the key tables say, for people and for their editors.
namespace det::config {

enum class SchemaFor {
    user_files,  // what people write: a template, a part, a whole
    complete,    // once all is merged and defaulted
};

/// A JSON Schema (draft-07) of the configuration: names, types, choices, limits, defaults, meanings. The
/// rules that look at several keys are not in it. Pure.
std::string render_json_schema(SchemaFor of);

/// Every key with its default, else as a comment, and what it means. Reading it gives what holds when nobody
/// says anything. Pure.
std::string render_defaults();

}  // namespace det::config
