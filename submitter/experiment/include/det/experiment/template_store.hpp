#pragma once
#include <det/foundation/result.hpp>
#include <det/protocol/directory_layout.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace det::experiment {

/// A configuration template: YAML with values that a configuration inherits unless it sets them.
struct TemplateFile {
    std::string name;
    std::filesystem::path path;
    bool is_shipped = false;
};
struct TemplateText {
    TemplateFile file;
    std::string text;
};

/// The user's own templates, which are in the root, and the templates shipped with det-submit. If two
/// templates have the same name, the user's own is used.
class TemplateStore {
public:
    explicit TemplateStore(RootLayout root);

    /// Returns the templates, sorted by name.
    Result<std::vector<TemplateFile>> list() const;
    /// Reads a template. codes::no_such_template, with a hint to the most similar name; codes::unsafe_owner
    /// if it is the user's own and others can write it.
    Result<TemplateText> load(std::string const& name) const;
    bool has_own(std::string const& name) const;

    /// Creates or replaces one of the user's own templates, atomically.
    Result<TemplateFile> write(std::string const& name, std::string_view text) const;
    /// Creates one of the user's own templates. codes::name_taken if the user has a template of this name.
    Result<TemplateFile> create(std::string const& name, std::string_view text) const;
    /// Removes one of the user's own templates. codes::not_yours for a shipped template.
    Result<TemplateFile> remove(std::string const& name) const;

private:
    std::filesystem::path own_path(std::string const& name) const;
    Error no_such_template(std::string const& name) const;

    RootLayout root_;
    std::filesystem::path shipped_;
};

}  // namespace det::experiment
