#pragma once
#include <optional>
#include <string_view>
#include <vector>

namespace det {

/// The number of a signal that slurm.forward_signals may name: "TERM", "INT", "HUP", "USR1", "USR2".
std::optional<int> forward_signal_number(std::string_view name);

/// The numbers of the signals in a list like "TERM,USR1"; unknown names are ignored.
std::vector<int> parse_forward_signals(std::string_view list);

}  // namespace det
