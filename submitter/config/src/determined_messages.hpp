#pragma once
#include "schema/type.hpp"

// What Determined says where a document breaks its schemas, as far as the tables alone say it. People read
// our own messages; the published conformance cases look for these.
namespace det::config {

std::string wrong_type_message(yaml::Node const& value, schema::Type const& expected);
std::string out_of_range_message(yaml::Node const& value, schema::Type const& expected);
std::string unknown_choice_message(schema::Type const& expected);
std::string unknown_key_message(std::string_view key);
std::string missing_key_message(std::string_view key);

/// The rest of a sentence that begins with the path it is about.
std::string without_path(std::string_view message, std::string_view path);

}  // namespace det::config
