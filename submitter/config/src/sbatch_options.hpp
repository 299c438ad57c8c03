#pragma once
#include <span>
#include <string_view>

namespace det::config {

enum class SbatchValue { none, optional, required };

/// A row of the table of sbatch's options: how it is written and who says it.
struct SbatchOption {
    std::string_view name;
    char letter;  // 0: it has none
    SbatchValue value;
    std::string_view instead =
        {};  // what to do instead of it, where it is det-submit's; empty: it is the user's

    bool is_users() const { return instead.empty(); }
};

/// All of them, by name: those of Slurm 22.05 to 25.05.
std::span<SbatchOption const> sbatch_options();

}  // namespace det::config
