#pragma once
#include <det/foundation/result.hpp>
#include <det/protocol/layout.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace det::experiment {

/// A configuration template: YAML that stands below a configuration.
struct TemplateFile {
    std::string name;
    std::filesystem::path path;
    bool is_shipped = false;
};
struct TemplateText {
    TemplateFile file;
    std::string text;
};

/// The user's own templates, in the root, and those shipped with det-submit. Of two with one name the user's
/// own is used.
class TemplateStore {
public:
    explicit TemplateStore(RootLayout root);

    /// By name.
    Result<std::vector<TemplateFile>> list() const;
    /// Reads a template. codes::no_such_template, with the most similar name; codes::unsafe_owner for one of
    /// the user's that others can write.
    Result<TemplateText> load(std::string const& name) const;
    bool has_own(std::string const& name) const;

    /// Creates or replaces one of the user's own, atomically.
    Result<TemplateFile> write(std::string const& name, std::string_view text) const;
    /// codes::name_taken if the user has one of that name.
    Result<TemplateFile> create(std::string const& name, std::string_view text) const;
    /// Removes one of the user's own; shipped ones can't be removed.
    Result<TemplateFile> remove(std::string const& name) const;

private:
    std::filesystem::path own_path(std::string const& name) const;
    Error no_such_template(std::string const& name) const;

    RootLayout root_;
    std::filesystem::path shipped_;
};

}  // namespace det::experiment
