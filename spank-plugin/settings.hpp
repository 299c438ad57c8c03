// SPDX-License-Identifier: GPL-2.0-or-later
// It includes Slurm's headers, which are GPL-2.0-or-later.
#pragma once
#include <det/foundation/result.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace det::spank {

/// Whether det-wrap-rank is put in front of a task's command.
enum class Wrap { off, rank };

std::optional<Wrap> parse_wrap(std::string_view text);

/// The arguments after the plugin's path in plugstack.conf.
struct Settings {
    std::string wrapper = {};                  // path of det-wrap-rank; empty: none
    Wrap wrap = Wrap::rank;                    // the default for jobs
    std::vector<std::string> partitions = {};  // partitions in which the plugin is active; empty: all

    bool is_active_in(std::string_view partition) const;
};

/// Parses the arguments: wrapper=/absolute/path wrap=rank|off partitions=a,b
Result<Settings> parse_settings(std::vector<std::string_view> const& arguments);

}  // namespace det::spank
