#pragma once
#include <det/protocol/task_identity.hpp>

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
    std::size_t item = 0;  // in which it was written

    /// "--mem=8G": one word.
    std::string text() const;
    friend bool operator==(SbatchArg const& a, SbatchArg const& b) {
        return a.name == b.name && a.value == b.value;
    }
};

/// An item that is refused, and the reason.
struct SbatchRefusal {
    std::size_t item;  // from 0
    std::string message, hint;
    std::string det_submits = {};  // the option, if the reason is that det-submit sets it itself
};

/// Which command gets the options: sbatch for jobs of an entrypoint, whose size and files det-submit decides;
/// sbatch for a user's batch script, which decides itself; or srun for the step that starts the tasks of an
/// entrypoint.
enum class SbatchUse { entrypoint, batch_script, step };

struct SbatchArgs {
    std::vector<SbatchArg> args;
    std::vector<SbatchRefusal> refused;  // none in an ExperimentConfig
    /// The item that is no option, with SbatchUse::batch_script: sbatch reads nothing after it.
    std::optional<std::size_t> word = {};

    /// \return The value of the option; of several the last, as in sbatch. Nothing if the option is absent or
    /// has no value, as in `--exclusive`.
    std::optional<std::string> find(std::string_view name) const;
};

/// Parses slurm.sbatch_args, the words of #SBATCH lines, or slurm.srun_args, as sbatch and srun parse their
/// command lines. Also accepts `--mem 8G` in one item, as in #SBATCH lines. Refuses options and values that
/// det-submit sets itself or does not support, and items that are no valid options. Pure.
SbatchArgs parse_sbatch_args(std::span<std::string const> items, SbatchUse use = SbatchUse::entrypoint);

/// The options that sbatch takes from variables such as SBATCH_PARTITION, without those that det-submit sets
/// itself. Pure.
std::vector<SbatchArg> parse_sbatch_variables(VariableLookup const& lookup);

}  // namespace det::config
