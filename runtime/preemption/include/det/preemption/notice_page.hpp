#pragma once
#include <det/foundation/clock.hpp>
#include <det/foundation/result.hpp>

#include <filesystem>
#include <optional>

namespace det::preemption {

/// A page in DET_RUN_DIR that all processes of a run on a node share. The wrapper that Slurm gives the notice
/// to raises it; ranks look at it: one load from memory, no system call. A page is raised once and stays so.
/// Thread-safe, across processes too; raise() may be called in a signal handler.
class NoticePage {
public:
    static Status create(std::filesystem::path const& path);
    static Result<NoticePage> open(std::filesystem::path const& path);

    NoticePage(NoticePage&& other) noexcept;
    NoticePage& operator=(NoticePage&&) = delete;
    ~NoticePage();

    bool is_raised() const noexcept;
    /// When the notice came; nothing while there is none.
    std::optional<UtcTime> raised_at() const noexcept;
    /// When Slurm itself said that it wants the nodes: at once or after another notice.
    std::optional<UtcTime> raised_by_slurm_at() const noexcept;

    enum class By { supervisor, slurm };
    /// The first of each counts.
    void raise(UtcTime now, By by) noexcept;

private:
    struct Layout;
    explicit NoticePage(Layout* page) : page_(page) {}

    Layout* page_;
};

inline constexpr char notice_file[] = "preempt";

}  // namespace det::preemption
