#pragma once
#include <det/foundation/result.hpp>

#include <string>
#include <string_view>

namespace det {

/// What the user wants of an experiment or a trial, from mild to strict. A trial's own may only be stricter.
enum class Desired { run, pause, cancel, kill };

std::string_view to_string(Desired desired);
inline Desired stricter(Desired a, Desired b) { return a < b ? b : a; }

std::string render_desired(Desired desired);
Result<Desired> parse_desired(std::string_view text);

}  // namespace det
