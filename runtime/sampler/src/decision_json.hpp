#pragma once
#include <det/sampler/decision.hpp>

namespace det::sampler {

/// The body of a recorded decision.
Json decision_to_json(Decision const& decision);
/// codes::damaged if it is none
Result<Decision> decision_from_json(Json const& json);

}  // namespace det::sampler
