#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace det::config {

/// An option of sbatch in its normalised form.
struct SbatchArg {
    std::string name;  // the full long name; an option unknown to det-submit keeps its spelling
    std::optional<std::string> value;

    /// "--mem=8G": one word.
    std::string text() const;
    friend bool operator==(SbatchArg const&, SbatchArg const&) = default;
};

/// An item of slurm.sbatch_args that is refused, and the reason.
struct SbatchRefusal {
    std::size_t item;  // from 0
    std::string message, hint;
};

struct SbatchArgs {
    std::vector<SbatchArg> args;
    std::vector<SbatchRefusal> refused;  // none in an ExperimentConfig

    /// \return The value of the option; of several the last, as in sbatch. Nothing if the option is absent or
    /// has no value, as in `--exclusive`.
    std::optional<std::string> find(std::string_view name) const;
};

/// Parses slurm.sbatch_args as sbatch parses its command line. Also accepts `--mem 8G` in one item, as in
/// #SBATCH lines. Refuses options and values that det-submit sets itself or does not support, and items that
/// are no valid options. Pure.
SbatchArgs parse_sbatch_args(std::span<std::string const> items);

}  // namespace det::config
