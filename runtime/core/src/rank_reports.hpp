#pragma once
#include <det/telemetry/reporter.hpp>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace det::core {

/// The reports of a rank other than the chief. The first one makes the rank's journal. Thread-safe. In a
/// forked child reports are lost.
class RankReports {
public:
    /// \param journal the path of the rank's journal
    /// \param clock must outlive this object
    /// \param retry_timeout as of telemetry::ReporterOptions
    RankReports(std::filesystem::path journal, Rank rank, Clock& clock,
                std::chrono::milliseconds retry_timeout,
                std::function<void(std::string const& warning)> warn);

    /// The reporter of this rank; nullptr in a forked child. Fails if the journal can't be made.
    Result<telemetry::Reporter*> require();
    /// Writes all reports made before.
    Status flush();
    /// As flush(), without repeating a write that fails.
    Status flush_once();
    /// Writes all reports and syncs the journal. Nothing writes later reports.
    Status close();

private:
    telemetry::Reporter* find();

    std::filesystem::path const path_;
    Rank const rank_;
    Clock& clock_;
    std::chrono::milliseconds const retry_timeout_;
    std::function<void(std::string const& warning)> const warn_;
    pid_t const owner_;
    std::mutex mutex_;  // for the members below; the reporter itself is thread-safe
    std::unique_ptr<telemetry::Reporter> reporter_;
    std::optional<Error> error_;  // of the attempt to make the journal
};

}  // namespace det::core
