#pragma once
#include <det/experiment/context.hpp>
#include <det/foundation/diagnostic.hpp>
#include <det/plan/plan.hpp>

namespace det::experiment {

/// Makes one line of the warning that a job holds more slots than its trials use (codes::idle_slots). Leaves
/// it out if this user has had it on this day, in local time, for this pool. The cache remembers the day; if
/// it can't, the warning stays. Of two processes at the same time both may warn.
Diagnostics limit_idle_slots_warning(Diagnostics const& warnings, plan::SubmissionPlan const& plan,
                                     Context const& context);

}  // namespace det::experiment
