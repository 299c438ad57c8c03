#include "model/attribute_options.hpp"

#include <det/protocol/json.hpp>

#include <fmt/format.h>

namespace det::cli {

void AttributeOptions::add_to(std::vector<Option>& options) {
    options.push_back({"--description,--comment", &description_, "a text"});
    options.push_back({"--notes", &notes_, "a longer text"});
    options.push_back({"--label", &labels_, "a label; may be repeated"});
    options.push_back({"--no-labels", &has_no_labels_, "remove all labels"});
    options.push_back({"--metadata", &metadata_, "a JSON object"});
}

Result<model_registry::AttributeChanges> AttributeOptions::read() const {
    model_registry::AttributeChanges changes;
    changes.description = description_;
    changes.notes = notes_;
    if (has_no_labels_ && !labels_.empty())
        return Error{codes::usage, "--label and --no-labels exclude each other", "give one of them"};
    if (has_no_labels_ || !labels_.empty()) changes.labels = labels_;
    if (!metadata_) return changes;
    auto metadata = try_parse_json(*metadata_);
    if (!metadata.is_object())
        return Error{codes::usage, fmt::format("--metadata: '{}' is not a JSON object", *metadata_),
                     "for example '{\"accuracy\": 0.9}'"};
    changes.metadata = JsonValue(std::move(metadata));
    return changes;
}

}  // namespace det::cli
