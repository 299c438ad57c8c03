#pragma once
#include <det/foundation/clock.hpp>
#include <det/foundation/result.hpp>

#include <chrono>
#include <filesystem>
#include <optional>

namespace det::preemption {

/// A page of memory in DET_RUN_DIR that all processes of a run on a node share. The rank wrapper raises it
/// when Slurm sends the notice. Ranks read it with one load, without a system call. A raised page stays
/// raised. Thread-safe, also across processes; raise() may be called in a signal handler.
class NoticePage {
public:
    using SteadyTime = std::chrono::steady_clock::time_point;

    /// Creates the file, not raised.
    static Status create(std::filesystem::path const& path);
    /// codes::damaged if the file is no notice page of this version.
    static Result<NoticePage> open(std::filesystem::path const& path);

    NoticePage(NoticePage&& other) noexcept;
    NoticePage& operator=(NoticePage&&) = delete;
    ~NoticePage();

    bool is_raised() const noexcept;
    /// When the notice came; none: not raised.
    std::optional<UtcTime> raised_at() const noexcept;
    /// The same by the steady clock of the node, for deadlines.
    std::optional<SteadyTime> raised_at_steady() const noexcept;
    /// When Slurm itself sent a notice, by the steady clock. The supervisor may have raised the page before.
    std::optional<SteadyTime> raised_by_slurm_at_steady() const noexcept;

    enum class By { supervisor, slurm };
    /// The first call for each source sets its time; later calls have no effect.
    void raise(Clock const& clock, By by) noexcept;

private:
    struct Layout;
    explicit NoticePage(Layout* page) : page_(page) {}

    Layout* page_;
};

inline constexpr char notice_file[] = "preempt";

}  // namespace det::preemption
