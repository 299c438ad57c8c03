#include "rank_reports.hpp"

#include <det/foundation/repeat_write.hpp>

#include <unistd.h>

namespace det::core {

RankReports::RankReports(std::filesystem::path journal, Rank rank, Clock& clock,
                         std::chrono::milliseconds retry_timeout,
                         std::function<void(std::string const& warning)> warn)
    : path_(std::move(journal)),
      rank_(rank),
      clock_(clock),
      retry_timeout_(retry_timeout),
      warn_(std::move(warn)),
      owner_(::getpid()) {}

Result<telemetry::Reporter*> RankReports::require() {
    // The mutex may have been held at the time of the fork.
    if (::getpid() != owner_) return static_cast<telemetry::Reporter*>(nullptr);
    std::scoped_lock const lock(mutex_);
    if (error_) return *error_;
    if (!reporter_) {
        auto journal =
            repeat_write(clock_, {retry_timeout_}, [this] { return journal::JournalWriter::open(path_); });
        if (!journal) {
            error_ = std::move(journal).error();
            return *error_;
        }
        telemetry::ReporterOptions options;
        options.warn = warn_;
        options.rank = rank_;
        options.retry_timeout = retry_timeout_;
        reporter_ = std::make_unique<telemetry::Reporter>(*std::move(journal), clock_, std::move(options));
    }
    return reporter_.get();
}

telemetry::Reporter* RankReports::find() {
    if (::getpid() != owner_) return nullptr;
    std::scoped_lock const lock(mutex_);
    return reporter_.get();
}

Status RankReports::flush() {
    auto* const reporter = find();
    return reporter != nullptr ? reporter->flush() : Status(Ok{});
}

Status RankReports::flush_once() {
    auto* const reporter = find();
    return reporter != nullptr ? reporter->flush_once() : Status(Ok{});
}

Status RankReports::close() {
    auto* const reporter = find();
    return reporter != nullptr ? reporter->close() : Status(Ok{});
}

}  // namespace det::core
