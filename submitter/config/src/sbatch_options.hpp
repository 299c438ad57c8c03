#pragma once
#include <det/config/sbatch_args.hpp>

#include <span>
#include <string_view>

namespace det::config {

enum class SbatchValue { none, optional, required };

enum class SbatchOwner { det_submit, script };

/// An option of sbatch: its spelling, and whether the user may set it.
struct SbatchOption {
    std::string_view name;
    char letter;  // 0: it has none
    SbatchValue value;
    std::string_view instead = {};  // the hint if the option is refused; empty: the user may set it
    /// For a refused option: whether a user's batch script may set it in its header.
    SbatchOwner owner = SbatchOwner::det_submit;

    bool is_users(SbatchUse use) const {
        return instead.empty() || (use == SbatchUse::batch_script && owner == SbatchOwner::script);
    }
};

/// \return The options of sbatch that det-submit knows, sorted by name.
std::span<SbatchOption const> sbatch_options();
/// \return The options of srun that det-submit knows, sorted by name.
std::span<SbatchOption const> srun_options();

}  // namespace det::config
