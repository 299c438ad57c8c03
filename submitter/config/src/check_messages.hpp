#pragma once
#include "check.hpp"

namespace det::config {

/// "unknown key 'slot_per_trial' in resources", with a hint: the nearest key, the section of `whole` that has
/// this key, or a list of the known keys.
Error unknown_key(yaml::Node::Entry const& entry, yaml::Node const& owner, schema::Type const& type,
                  Path const& path, schema::Type const& whole);

/// The known key of a section whose name is nearest to `name`; empty if none is near.
std::string nearest_known_key(std::string_view name, yaml::Node const& owner, schema::Type const& type);

// Determined's messages for documents that break its schemas, as far as the key tables determine them. Users
// see det-submit's own messages; Determined's published conformance cases expect these.
std::string wrong_type_message(yaml::Node const& value, schema::Type const& expected);
std::string out_of_range_message(yaml::Node const& value, schema::Type const& expected);
std::string unknown_choice_message(schema::Type const& expected);
std::string unknown_key_message(std::string_view key);
std::string missing_key_message(std::string_view key);

/// \return The message without the path at its beginning.
std::string without_path(std::string_view message, std::string_view path);

}  // namespace det::config
