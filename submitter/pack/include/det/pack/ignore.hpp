#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace det::pack {

enum class EntryKind { file, directory };

/// Which files stay out of a context: patterns that mean what they mean in a .gitignore; the last that
/// matches decides. Pure.
class IgnoreRules {
public:
    /// What never belongs into a context: Determined's list, and what editors and desktops leave about.
    static IgnoreRules defaults();
    /// Adds the lines of a .detignore.
    void add(std::string_view text);

    /// path: relative to where the patterns are from, '/' between its parts. Whether a directory above it is
    /// ignored is the caller's to know: he does not go into one, so nothing in it can be taken back.
    bool ignores(std::string_view path, EntryKind kind) const;

private:
    /// `literal` has to stand there as it is; `glob` is what follows it, from the first special character on.
    struct Pattern {
        std::string literal, glob;
        bool negated = false;
        bool directories_only = false;
        bool by_name = false;  // looks at the last part of a path only

        bool matches(std::string_view text) const;
    };
    std::vector<Pattern> patterns_;
};

}  // namespace det::pack
