#pragma once
#include <span>
#include <string_view>

namespace det::config {

enum class SbatchValue { none, optional, required };

/// An option of sbatch: its spelling, and whether the user may set it.
struct SbatchOption {
    std::string_view name;
    char letter;  // 0: it has none
    SbatchValue value;
    std::string_view instead = {};  // the hint if the option is refused; empty: the user may set it

    bool is_users() const { return instead.empty(); }
};

/// \return The options of sbatch that det-submit knows, sorted by name.
std::span<SbatchOption const> sbatch_options();

}  // namespace det::config
