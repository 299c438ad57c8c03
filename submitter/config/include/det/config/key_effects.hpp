#pragma once
#include <det/foundation/diagnostic.hpp>
#include <det/yaml/node.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

// What acts on the keys of a configuration, and which keys have no effect.
namespace det::config {

enum class Consumer {
    det_submit,     // det-submit and the programs that it starts in a job
    training_code,  // the user's program, which reads the value through an API that the row names
    launcher,       // a launcher of another project that det-launch starts
    nothing,
};

/// A row of the table of effects.
struct KeyEffect {
    /// "resources.priority"; "bind_mounts[].host_path" for the items of a list. A row is about all keys below
    /// it that have no row of their own. The members of a union (searcher, checkpoint_storage) share their
    /// rows.
    std::string_view key;
    Consumer consumer;
    std::string_view effect;  // for Consumer::nothing: the reason
    /// nullptr if the answer is the same for all experiments: no effect with Consumer::nothing, otherwise an
    /// effect.
    /// \param config a complete configuration
    /// \return Why the key has no effect in this experiment, judged by its configuration alone (scripts are
    /// not read); "" if it has an effect.
    std::string_view (*why_no_effect)(yaml::Node const& config) = nullptr;
};

/// The table, in the order of the key tables. Keys that are marked as ignored there need no row.
std::span<KeyEffect const> key_effects();

/// \return The row about a key; nullptr if there is none.
KeyEffect const* find_effect(std::string_view key);

/// A key of the key tables that has no keys below it.
struct LeafKey {
    std::string name;                 // as in KeyEffect::key
    std::string_view ignored_reason;  // of the key or of a section that contains it; empty: it is not ignored
};
/// \return All keys of an experiment's configuration, in order, without those of searchers and storages that
/// are no longer supported.
std::vector<LeafKey> leaf_keys();

/// Warns of each value that a user has set and that has no effect in the experiment.
/// \param effective a complete configuration with its defaults
/// \param non_user_sources documents whose values no user has set: the site file, det-submit's own defaults
Diagnostics find_keys_without_effect(yaml::Node const& effective,
                                     std::span<yaml::Location const> non_user_sources);
/// The same for a part of a configuration, such as a template: only keys that never have an effect.
Diagnostics find_keys_without_effect_in_part(yaml::Node const& document);

/// Renders the table as the page KEYS.md. Pure.
std::string render_key_effects();

}  // namespace det::config
