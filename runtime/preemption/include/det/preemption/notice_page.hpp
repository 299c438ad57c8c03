#pragma once
#include <det/foundation/clock.hpp>
#include <det/foundation/result.hpp>

#include <chrono>
#include <filesystem>
#include <optional>

namespace det::preemption {

/// A page in DET_RUN_DIR that all processes of a run on a node share. The wrapper that Slurm gives the notice
/// to raises it; ranks look at it: one load from memory, no system call. A page is raised once and stays so.
/// Thread-safe, across processes too; raise() may be called in a signal handler.
class NoticePage {
public:
    using SteadyTime = std::chrono::steady_clock::time_point;

    static Status create(std::filesystem::path const& path);
    static Result<NoticePage> open(std::filesystem::path const& path);

    NoticePage(NoticePage&& other) noexcept;
    NoticePage& operator=(NoticePage&&) = delete;
    ~NoticePage();

    bool is_raised() const noexcept;
    /// When the notice came; nothing while there is none.
    std::optional<UtcTime> raised_at() const noexcept;
    /// The same by the clock of the node that nobody sets: for deadlines.
    std::optional<SteadyTime> raised_at_steady() const noexcept;
    /// When Slurm itself said that it wants the nodes, at once or after another notice, by that clock.
    std::optional<SteadyTime> raised_by_slurm_at_steady() const noexcept;

    enum class By { supervisor, slurm };
    /// The first of each counts.
    void raise(Clock const& clock, By by) noexcept;

private:
    struct Layout;
    explicit NoticePage(Layout* page) : page_(page) {}

    Layout* page_;
};

inline constexpr char notice_file[] = "preempt";

}  // namespace det::preemption
