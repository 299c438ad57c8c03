#pragma once
#include <string>
#include <vector>

#include "value_kind.hpp"

namespace det::cli {

/// A word that may stand in a command line, and what it means.
struct Candidate {
    std::string text;
    std::string description = {};
};

class ExistingNames;

/// Returns the words that can complete the last of `words`, the words of a command line after det-submit. The
/// last word may be empty. If it has a value after "=" ("--template=m"), the candidates contain the option.
/// Empty if a file name is expected or nothing fits.
std::vector<Candidate> find_candidates(std::vector<std::string> words, ExistingNames& names);

}  // namespace det::cli
