#pragma once
#include <string>
#include <vector>

namespace det::cli {

/// A word that may stand in a command line, and what it means.
struct Candidate {
    std::string text;
    std::string description = {};
};

/// What an option or an argument takes.
enum class ValueKind { file, template_name, experiment, trial, pool, checkpoint };

/// The names that exist on this cluster and in this user's root. A name that can't be read is left out:
/// completion never fails.
class NameSource {
public:
    virtual ~NameSource() = default;
    /// \param begun What the user has typed of the name. A source may ignore it and return all names.
    virtual std::vector<Candidate> find_names(ValueKind kind, std::string const& begun) = 0;
};

/// Returns the words that can complete the last of `words`, the words of a command line after det-submit. The
/// last word may be empty. If it has a value after "=" ("--template=m"), the candidates contain the option.
/// Empty if a file name is expected or nothing fits.
std::vector<Candidate> find_candidates(std::vector<std::string> words, NameSource& names);

}  // namespace det::cli
