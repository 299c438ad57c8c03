#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace det::launch::supervisor {

/// Why Slurm does not create the step for which srun waits, from srun's messages about it: "Requested nodes
/// are busy". Empty if the step was created since, if srun waits for something else (a prolog, slurmctld), or
/// if it has not said that it waits. Pure.
std::string_view find_step_refusal(std::string_view output);

/// When to look whether Slurm refuses the step of a run. The time begins with srun, and again if a look comes
/// late, because the job was probably suspended. At each look srun's messages may be read. Slurm is asked
/// less and less often, and rarely if it does not answer: such a query blocks the supervisor for half a
/// minute. Pure.
class StepRefusalWatch {
public:
    using Time = std::chrono::steady_clock::time_point;
    /// Slurm creates the step of a job that has its nodes at once, or within seconds after the step before.
    /// For a node that went down, or that still ends a former execution of the job, it may wait for ever.
    static constexpr std::chrono::seconds limit{30};
    static constexpr std::chrono::seconds between_looks{10};
    static constexpr std::chrono::seconds late{20};
    static constexpr std::chrono::seconds between_queries_min{10}, between_queries_max{120};
    static constexpr std::chrono::seconds after_unanswered_query{300};

    /// srun has been started.
    void begin(Time now) {
        next_look_ = now + limit;
        next_query_ = {};
        between_queries_ = between_queries_min;
    }
    /// The step was created.
    void end() { next_look_.reset(); }
    /// nullopt: never.
    std::optional<Time> next_look() const { return next_look_; }
    /// Whether to look now.
    bool take(Time now);
    /// Whether Slurm may be asked at this look.
    bool may_query(Time now) const { return now >= next_query_; }
    /// Slurm was asked. The time of the query makes no look late.
    void end_query(bool is_answered, Time now);

private:
    std::optional<Time> next_look_;
    Time next_query_ = {};
    std::chrono::seconds between_queries_ = between_queries_min;
};

}  // namespace det::launch::supervisor
