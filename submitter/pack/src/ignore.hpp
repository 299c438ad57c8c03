#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace det::pack {

enum class EntryKind { file, directory };

/// The patterns of files that are not packed, with the meaning of .gitignore: the last pattern that matches
/// decides. Pure.
class IgnoreRules {
public:
    /// The default patterns: Determined's list, files of editors and desktops, and what Python, notebooks and
    /// trackers of experiments leave beside code.
    static IgnoreRules defaults();
    /// Adds the lines of a .detignore.
    void add(std::string_view text);

    /// `path` is relative to the directory of the patterns, with '/' between its parts. The caller does not
    /// descend into an ignored directory, so no pattern can include a file in it again.
    bool ignores(std::string_view path, EntryKind kind) const;

private:
    /// `literal` must match exactly; `glob` is the rest of the pattern from the first special character.
    struct Pattern {
        std::string literal, glob;
        bool negated = false;
        bool directories_only = false;
        bool by_name = false;  // matches the last part of a path only

        bool matches(std::string_view text) const;
    };
    std::vector<Pattern> patterns_;
};

}  // namespace det::pack
