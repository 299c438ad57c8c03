#pragma once
#include <det/foundation/diagnostic.hpp>
#include <det/foundation/result.hpp>
#include <det/yaml/node.hpp>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace det::config {

/// One of the documents that are merged into a configuration. Each value carries its location.
struct Layer {
    yaml::Node document;
    /// If not empty, the value at this path replaces that of all lower layers, without being merged with it.
    /// Set for --config, and for the changes with which an experiment is continued.
    std::vector<std::string> replaces = {};
};

/// Parses a configuration file or template. `origin` is its name in messages. An empty text is an empty map.
Result<yaml::Node, Diagnostics> parse_layer(std::string_view text, std::string origin);

/// Parses `--config resources.slots_per_trial=16`. Strings need no quotes; [..] and {..} are YAML; commas
/// separate the items of a list; an empty value removes the value of lower layers, so that the default is
/// used.
Result<Layer> parse_override(std::string_view assignment);

/// Returns a layer that replaces the value at `path`, which must not be empty.
/// \param where the location of the keys
Layer replace_value(std::vector<std::string> path, yaml::Node value, yaml::Location const& where);

/// Finds the errors of one layer that do not depend on the other layers: unknown keys, wrong types, bad
/// values. Missing keys are not errors yet. Keys that the key tables mark as ignored are warnings.
Diagnostics check_sanity(yaml::Node const& written);

/// Finds a scalar of the top level or of a section, as the merge of the layers has it.
/// \return nullptr if the merge has no value at `path`.
yaml::Node const* find_value(std::vector<Layer> const& high_to_low, std::span<std::string const> path);

/// Merges layers. Each add() puts its layers above those added before. Maps merge key by key; of two scalars
/// the higher layer's is used; lists are concatenated (the lower layer first); null means absent. The README
/// lists the rules of single keys.
class LayerMerge {
public:
    void add(std::vector<Layer> const& high_to_low);
    /// \return The merge of the layers added so far.
    yaml::Node const& merged() const { return merged_; }
    Result<yaml::Node, Diagnostics> finish() &&;

private:
    yaml::Node merged_;
    Diagnostics problems_;
};

/// Merges all layers, the highest first.
Result<yaml::Node, Diagnostics> merge_layers(std::vector<Layer> const& high_to_low);

/// \return The document with the override's value, otherwise unchanged.
Result<yaml::Node, Diagnostics> apply_override(yaml::Node const& document, Layer const& override_layer);

/// Adds the default of every absent key. Defaults have no location.
yaml::Node add_defaults(yaml::Node const& merged);

/// Finds the errors of a configuration that is to be created: those of check_sanity(), missing keys, and
/// searchers and storages that are no longer supported.
Diagnostics check_for_creation(yaml::Node const& merged);

/// \return A document with only the secrets, each at its path; nothing if there are none.
std::optional<yaml::Node> find_secrets(yaml::Node const& document);

/// What output shows in place of a secret.
inline constexpr std::string_view masked_value = "********";
/// Replaces passwords, keys and data.secrets by masked_value, for output.
yaml::Node mask_secrets(yaml::Node const& document);
/// Removes the document's secrets from messages and excerpts.
Diagnostics mask_secrets(Diagnostics const& found, yaml::Node const& document);
/// Masks secrets in errors about a text that is not a valid document. In the excerpt, masks the rest of the
/// line after a secret's key. In the message and the hint, masks the words of this rest that have at least 4
/// characters. An error without a location has no excerpt and stays as it is.
Diagnostics mask_secrets_by_name(Diagnostics const& found);

}  // namespace det::config
