#pragma once
#include "schema/type.hpp"

// What Determined says where a document breaks its schemas, as far as the tables alone say it. People read
// our own messages; the published conformance cases look for these.
namespace det::config {

std::string words_for_kind(yaml::Node const& value, schema::Type const& wanted);
std::string words_for_number(yaml::Node const& value, schema::Type const& wanted);
std::string words_for_choice(schema::Type const& wanted);
std::string words_for_unknown_key(std::string_view key);
std::string words_for_missing_key(std::string_view key);

/// The rest of a sentence that begins with the path it is about.
std::string without_path(std::string_view message, std::string_view path);

}  // namespace det::config
