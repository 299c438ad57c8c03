#pragma once
#include <det/foundation/diagnostic.hpp>
#include <det/foundation/result.hpp>
#include <det/yaml/source.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace det::config {

/// A word of an #SBATCH line, without its quotes.
struct HeaderWord {
    std::string text;
    yaml::Location where;
};

/// The words of all #SBATCH lines before the first command of a script, in order.
struct BatchScriptHeader {
    yaml::Location start;  // of the script
    std::vector<HeaderWord> words;
    Diagnostics warnings;
};

/// Splits the header of a batch script into words as sbatch does. Errors: a text that sbatch refuses as a
/// script, an unmatched quote, a heterogeneous job. Pure. \param name of the script, for messages
Result<BatchScriptHeader, Diagnostics> read_batch_script_header(std::string_view text,
                                                                std::string const& name);

}  // namespace det::config
