#pragma once
#include <det/foundation/result.hpp>
#include <det/protocol/layout.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace det::cli {

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

/// The templates there are: the user's own, in the root, and those shipped with det-submit. Of a name that
/// both have, the user's own is meant.
class TemplateStore {
public:
    explicit TemplateStore(RootLayout root);

    /// By name.
    Result<std::vector<TemplateFile>> list() const;
    /// codes::no_such_template, with the nearest name. One of the user's own that others can write is
    /// codes::unsafe_owner.
    Result<TemplateText> load(std::string const& name) const;
    bool has_own(std::string const& name) const;

    /// Makes or replaces the user's own, in one step.
    Result<TemplateFile> write(std::string const& name, std::string_view text) const;
    /// codes::name_taken where the user has one of that name.
    Result<TemplateFile> create(std::string const& name, std::string_view text) const;
    /// Only the user's own can be removed.
    Result<TemplateFile> remove(std::string const& name) const;

private:
    std::filesystem::path own_path(std::string const& name) const;
    Error no_such_template(std::string const& name) const;

    RootLayout root_;
    std::filesystem::path shipped_;
};

}  // namespace det::cli
