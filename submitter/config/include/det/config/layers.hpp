#pragma once
#include <det/foundation/diagnostic.hpp>
#include <det/foundation/result.hpp>
#include <det/yaml/node.hpp>

#include <optional>

namespace det::config {

/// One of the documents that a configuration is made of. Where each value came from is in the value's place.
struct Layer {
    yaml::Node document;
    /// Of an override: the path, down through the document, whose value replaces what the layers below say.
    std::vector<std::string> replaces = {};
};

/// A configuration file or template; `origin` is what messages call it. An empty text is an empty map.
Result<yaml::Node, Diagnostics> parse_layer(std::string_view text, std::string origin);

/// `--config resources.slots_per_trial=16`. Strings need no quotes; [..] and {..} are YAML; where a list
/// belongs, commas separate items; nothing after '=' takes the value away, so that the default holds.
Result<Layer> parse_override(std::string_view assignment);

/// What is wrong with a document that a person wrote, and is wrong whatever it is merged with: unknown keys,
/// wrong types, bad values. Nothing is missing yet. Keys that Slurm makes no use of are warnings.
Diagnostics check_sanity(yaml::Node const& written);

/// One document of all layers, the highest first. Maps merge key by key, of scalars the higher one stays,
/// lists follow each other (the lower one first), null is absent. The typed rules stand in the key tables:
/// see README.
Result<yaml::Node, Diagnostics> merge_layers(std::vector<Layer> const& high_to_low);

/// The document with an override's value in it, everything else as it was written.
Result<yaml::Node, Diagnostics> replace_value(yaml::Node const& document, Layer const& override_layer);

/// The documented defaults of everything that is absent; they have no place.
yaml::Node add_defaults(yaml::Node const& merged);

/// What creation would refuse: sanity, and what is still missing.
Diagnostics check_completeness(yaml::Node const& merged);

/// The secrets alone, each under its path; nothing where there are none.
std::optional<yaml::Node> find_secrets(yaml::Node const& document);

/// For showing: passwords, keys and data.secrets become "********".
yaml::Node mask_secrets(yaml::Node const& document);
/// What was found in that document, with the secrets gone from messages and excerpts.
Diagnostics mask_secrets(Diagnostics const& found, yaml::Node const& document);
/// The same for a text that could not be read as a document: what follows a secret's key on its line is gone.
Diagnostics mask_secrets_by_name(Diagnostics const& found);

}  // namespace det::config
