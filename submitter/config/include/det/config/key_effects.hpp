#pragma once
#include <det/foundation/diagnostic.hpp>
#include <det/yaml/node.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

// What acts on the keys of a configuration, and which keys have no effect.
namespace det::config {

/// A key of an experiment's configuration, from the key tables.
struct ListedKey {
    /// "resources.priority"; "bind_mounts[].host_path" for the items of a list. The members of a union
    /// (searcher, checkpoint_storage) share their names.
    std::string name;
    bool is_leaf;              // it has no keys below it, or those are ignored with it
    bool has_own_effect;       // its row says what acts on it, or why nothing does; false for an ignored key
    bool has_effect_or_above;  // the key, or one that contains it, has an effect
};
/// \return All keys in the order of the key tables, without those of searchers and storages that are no
/// longer supported and without those below an ignored key.
std::vector<ListedKey> list_keys();

/// Warns of each value that a user has set and that has no effect in the experiment.
/// \param effective a complete configuration with its defaults
/// \param non_user_sources documents whose values no user has set: the site file, det-submit's own defaults
Diagnostics find_keys_without_effect(yaml::Node const& effective,
                                     std::span<yaml::Location const> non_user_sources);
/// The same for a part of a configuration, such as a template: only keys that never have an effect.
Diagnostics find_keys_without_effect_in_part(yaml::Node const& document);

/// Renders the key tables as the page KEYS.md. Pure.
std::string render_key_page();

}  // namespace det::config
