#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace det::config {

/// An option of sbatch, however it was spelled.
struct SbatchArg {
    std::string name;  // the long one, in full; what sbatch itself does not know is as it was written
    std::optional<std::string> value;

    /// "--mem=8G": one word that sbatch reads in this way alone.
    std::string text() const;
    friend bool operator==(SbatchArg const&, SbatchArg const&) = default;
};

/// An item of slurm.sbatch_args that sbatch is not to see, and why.
struct SbatchRefusal {
    std::size_t item;  // from 0
    std::string message, hint;
};

struct SbatchArgs {
    std::vector<SbatchArg> args;
    std::vector<SbatchRefusal> refused;

    /// What the option is set to: by the last one, as sbatch has it.
    std::optional<std::string> find(std::string_view name) const;
};

/// Reads slurm.sbatch_args as sbatch would read its command line, and besides `--mem 8G` in one item, which
/// people bring from #SBATCH lines. Refused is what det-submit says itself, and what is no option. Pure.
SbatchArgs parse_sbatch_args(std::span<std::string const> items);

}  // namespace det::config
