#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace det::pack {

enum class EntryKind { file, directory };

/// Which files stay out of a context: patterns as in .gitignore, the last that matches decides. Pure.
class IgnoreRules {
public:
    /// What never belongs into a context: caches of Python, repositories, folders of editors.
    static IgnoreRules defaults();
    /// Adds the lines of a .detignore.
    void add(std::string_view text);

    /// path: relative to where the patterns are from, '/' between its parts. Whether a directory above it is
    /// ignored is the caller's to know: he does not go into one.
    bool ignores(std::string_view path, EntryKind kind) const;

private:
    struct Pattern {
        std::string glob;
        bool negated = false;
        bool directories_only = false;
        bool anchored = false;  // matches the whole path, not its last part
    };
    std::vector<Pattern> patterns_;
};

/// git's wildmatch: * and ? stop at '/', ** between slashes does not, [a-z], [!a-z], [[:alpha:]], \ takes the
/// next character as it is.
bool matches_glob(std::string_view glob, std::string_view text);

}  // namespace det::pack
