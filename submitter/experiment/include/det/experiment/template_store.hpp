#pragma once
#include <det/config/site_file.hpp>
#include <det/foundation/diagnostic.hpp>
#include <det/foundation/environment.hpp>
#include <det/foundation/result.hpp>
#include <det/foundation/trusted_path.hpp>
#include <det/protocol/directory_layout.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace det::experiment {

/// Whose template it is: the user's own, in the root; one of a shared directory; one shipped with det-submit.
enum class TemplateOrigin { own, shared, shipped };

/// A configuration template: YAML with values that a configuration inherits unless it sets them.
struct TemplateFile {
    std::string name;
    std::filesystem::path path;
    TemplateOrigin origin = TemplateOrigin::own;

    bool is_shipped() const { return origin == TemplateOrigin::shipped; }
};
struct TemplateText {
    TemplateFile file;
    std::string text;
};

/// Returns the directories of templates that users share, in the order in which they are searched: those of
/// DET_TEMPLATES, separated by colons, then that of the site file. codes::usage if a path is not absolute.
Result<std::vector<std::filesystem::path>> find_shared_template_directories(Environment const& environment,
                                                                            config::SiteFile const& site);

/// The user's own templates, which are in the root, those of shared directories, and those shipped with
/// det-submit. If several templates have the same name, the first of these is used.
class TemplateStore {
public:
    explicit TemplateStore(RootLayout root, std::vector<std::filesystem::path> shared = {},
                           TrustRules rules = {});
    /// Opens the templates of this user and site.
    static Result<TemplateStore, Diagnostics> open(Environment const& environment);

    /// Returns the templates, sorted by name.
    Result<std::vector<TemplateFile>> list() const;
    /// Reads a template. codes::no_such_template, with a hint to the most similar name; codes::unsafe_owner
    /// if the user's own template or its directory belongs to another user or others can write it, or if
    /// others than its owner can write a shared directory that is searched before the template is found, a
    /// directory above it, or the shared template itself.
    Result<TemplateText> load(std::string const& name) const;
    bool has_own(std::string const& name) const;

    /// Creates or replaces one of the user's own templates, atomically.
    Result<TemplateFile> write(std::string const& name, std::string_view text) const;
    /// Creates one of the user's own templates. codes::name_taken if the user has a template of this name.
    Result<TemplateFile> create(std::string const& name, std::string_view text) const;
    /// Replaces one of the user's own templates, atomically. codes::no_such_template if there is none of this
    /// name; codes::not_yours if it is not the user's own.
    Result<TemplateFile> replace(std::string const& name, std::string_view text) const;
    /// Removes one of the user's own templates. codes::not_yours if only a shared or shipped template has
    /// this name; codes::no_such_template if none has it.
    Result<TemplateFile> remove(std::string const& name) const;

private:
    /// The files that may hold a template of this name, in the order in which load() tries them.
    std::vector<TemplateFile> candidates(std::string const& name) const;
    Error not_own(TemplateFile const& file) const;
    std::filesystem::path own_path(std::string const& name) const;
    Error no_such_template(std::string const& name) const;

    RootLayout root_;
    std::vector<std::filesystem::path> shared_;
    TrustRules rules_;
    std::filesystem::path shipped_;
};

}  // namespace det::experiment
