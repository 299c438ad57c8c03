#pragma once
#include <det/model_registry/model_changes.hpp>

#include "command.hpp"

namespace det::cli {

/// The options that describe a model or a version of it.
class AttributeOptions {
public:
    void add_to(std::vector<Option>& options);
    /// codes::usage if --metadata is no JSON object, or if --label and --no-labels are given
    Result<model_registry::AttributeChanges> read() const;

private:
    std::optional<std::string> description_, notes_, metadata_;
    std::vector<std::string> labels_;
    bool has_no_labels_ = false;
};

}  // namespace det::cli
