#pragma once
#include <algorithm>
#include <chrono>

namespace det::transport {

/// Decides when a node leaves a connection over which answers do not come. Pure.
class UplinkSilence {
public:
    using Milliseconds = std::chrono::milliseconds;

    /// A late supervisor gets time: nothing is won by another connection to it.
    static constexpr Milliseconds limit_of_supervisor = std::chrono::seconds(15);
    /// Of another node. There are other ones.
    static constexpr Milliseconds limit_of_node = std::chrono::seconds(3);
    /// Of the time between two calls of pass_time() so much counts at most: in the rest this process did not
    /// run.
    static constexpr Milliseconds counted_max = std::chrono::seconds(2);
    /// From this age on requests do not show that the supervisor hears this node.
    static constexpr Milliseconds fresh_for = std::chrono::seconds(3);

    /// \param stale_limit age of the supervisor's requests from which on a parent is left that is a node: its
    ///     own connection may be cut. Differs between nodes, because a late supervisor looks the same.
    UplinkSilence(bool is_to_supervisor, Milliseconds stale_limit)
        : is_to_supervisor_(is_to_supervisor), stale_limit_(stale_limit) {}

    void pass_time(Milliseconds passed) {
        auto const counted = std::clamp(passed, Milliseconds(0), counted_max);
        unanswered_ += counted;
        age_ += counted;
    }
    /// \param age of the supervisor's requests. So long as this connection is new, only its own time counts:
    ///     the parent may itself have connected again a moment ago.
    void take_answer(Milliseconds age) {
        unanswered_ = Milliseconds(0);
        age_ = std::min(age_, age);
    }
    static bool is_fresh(Milliseconds age) { return age < fresh_for; }
    bool is_over() const {
        return unanswered_ >= (is_to_supervisor_ ? limit_of_supervisor : limit_of_node) ||
               (!is_to_supervisor_ && age_ >= stale_limit_);
    }

private:
    bool is_to_supervisor_;
    Milliseconds stale_limit_;
    Milliseconds unanswered_{}, age_{};
};

}  // namespace det::transport
