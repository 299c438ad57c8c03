#include "step_refusal.hpp"

#include <det/foundation/text.hpp>

#include <algorithm>

namespace det::launch::supervisor {

// "srun: Job 4 step creation temporarily disabled, retrying (Requested nodes are busy)" with 22.05, later
// releases begin with "Step creation". "still disabled" follows if srun is verbose.
std::string_view find_step_refusal(std::string_view output) {
    constexpr std::string_view program = "srun: ", created = "Step created for ", refused = "tep creation ",
                               retrying = " disabled, retrying (", busy = "Requested nodes are busy";
    std::string_view refusal;
    for (auto const line : split_lines(output)) {
        if (!line.starts_with(program)) continue;
        auto const message = line.substr(program.size());
        if (message.starts_with(created)) refusal = {};
        auto const reason = message.find(retrying);
        if (message.find(refused) == message.npos || reason == message.npos) continue;
        refusal = message.substr(reason + retrying.size()).starts_with(busy) ? busy : std::string_view();
    }
    return refusal;
}

bool StepRefusalWatch::take(Time now) {
    if (!next_look_ || now < *next_look_) return false;
    bool const is_late = now - *next_look_ > late;
    next_look_ = now + (is_late ? limit : between_looks);
    return !is_late;
}

void StepRefusalWatch::end_query(bool is_answered, Time now) {
    next_query_ = now + (is_answered ? between_queries_ : after_unanswered_query);
    if (is_answered) between_queries_ = std::min(2 * between_queries_, between_queries_max);
    if (next_look_) next_look_ = now + between_looks;
}

}  // namespace det::launch::supervisor
