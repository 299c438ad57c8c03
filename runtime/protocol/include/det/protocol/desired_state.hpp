#pragma once
#include <det/foundation/result.hpp>

#include <string>
#include <string_view>

namespace det {

/// The state that the user has requested for an experiment or a trial, in order of strictness. For a trial,
/// the stricter one of its own state and its experiment's state counts.
enum class DesiredState { run, pause, cancel, kill };

std::string_view to_string(DesiredState desired);
inline DesiredState stricter(DesiredState a, DesiredState b) { return a < b ? b : a; }

std::string render_desired(DesiredState desired);
Result<DesiredState> parse_desired(std::string_view text);

}  // namespace det
