#pragma once
#include <det/protocol/directory_layout.hpp>
#include <det/tracker/history/history.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "session.hpp"

namespace det::cli {

/// Returns "[#####.....]  50 %", `columns` wide, but at least 12. Pure.
std::string render_progress_bar(double progress, std::size_t columns);

/// A line on stderr that shows how far an experiment is. Shown only if stderr is a terminal that shows
/// escape sequences and NO_COLOR is not set.
class ProgressLine {
public:
    ProgressLine(RootLayout const& root, ExperimentId id, Session& session);
    ProgressLine(ProgressLine const&) = delete;
    ProgressLine& operator=(ProgressLine const&) = delete;
    ~ProgressLine() { clear(); }

    /// Draws the line. Reads the journals every 5 s at most. An error in reading them leaves the line as it
    /// is.
    void update();
    /// Removes the line, so that other text can be printed. The next update() draws it again.
    void clear();

private:
    RootLayout root_;
    ExperimentId id_;
    Session& session_;
    std::optional<double> progress_;
    std::optional<std::chrono::steady_clock::time_point> read_at_;
    bool is_drawn_ = false;
};

}  // namespace det::cli
