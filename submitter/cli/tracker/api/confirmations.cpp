#include "confirmations.hpp"

#include <det/foundation/uuid.hpp>

#include <algorithm>

namespace det::tracker::api {

std::string Confirmations::add(ActionCommand command, Time now) {
    std::lock_guard const lock(mutex_);
    while (!waiting_.empty() && (waiting_.size() >= count_max || now - waiting_.front().added > lifetime))
        waiting_.pop_front();
    waiting_.push_back({make_uuid(), now, std::move(command)});
    return waiting_.back().name;
}

std::optional<ActionCommand> Confirmations::take(std::string_view name, Time now) {
    std::lock_guard const lock(mutex_);
    auto const found =
        std::ranges::find_if(waiting_, [&](auto const& candidate) { return candidate.name == name; });
    if (found == waiting_.end()) return std::nullopt;
    auto const taken = std::move(*found);
    waiting_.erase(found);
    return now - taken.added > lifetime ? std::nullopt : std::optional(taken.command);
}

}  // namespace det::tracker::api
