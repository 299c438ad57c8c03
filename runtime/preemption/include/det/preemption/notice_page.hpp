#pragma once
#include <det/foundation/clock.hpp>
#include <det/foundation/result.hpp>

#include <chrono>
#include <filesystem>
#include <optional>

namespace det::preemption {

/// A mapped file in DET_RUN_DIR that all processes of a run on a node share. The rank wrapper raises it when
/// Slurm sends the notice, or earlier when the supervisor asks for that. Ranks read it with one load, without
/// a system call. A raised page stays raised. Thread-safe, also across processes; raise() may be called in a
/// signal handler.
class NoticePage {
public:
    using SteadyTime = std::chrono::steady_clock::time_point;

    /// Creates the file, not raised. Replaces an existing file.
    static Status create(std::filesystem::path const& path);
    /// \return codes::damaged if the file is no notice page of this version; an error of the file system
    static Result<NoticePage> open(std::filesystem::path const& path);

    NoticePage(NoticePage&& other) noexcept;
    NoticePage& operator=(NoticePage&&) = delete;
    ~NoticePage();

    bool is_raised() const noexcept;
    /// The time at which the page was first raised; none: not raised.
    std::optional<UtcTime> raised_at() const noexcept;
    /// The same time by the steady clock of the node, for deadlines.
    std::optional<SteadyTime> raised_at_steady() const noexcept;
    /// The time of Slurm's own notice, by the steady clock; none: Slurm has not sent one. The page may have
    /// been raised earlier, for the supervisor.
    std::optional<SteadyTime> raised_by_slurm_at_steady() const noexcept;

    enum class By { supervisor, slurm };
    /// Raises the page. The first call sets raised_at(), and the first call with By::slurm sets
    /// raised_by_slurm_at_steady(). Further calls do not change these times.
    void raise(Clock const& clock, By by) noexcept;

private:
    struct Layout;
    explicit NoticePage(Layout* page) : page_(page) {}

    Layout* page_;
};

/// The name of the page in DET_RUN_DIR.
inline constexpr char notice_file[] = "preempt";

}  // namespace det::preemption
