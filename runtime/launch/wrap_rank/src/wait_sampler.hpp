#pragma once
#include <det/foundation/clock.hpp>
#include <det/journal/metric_journal.hpp>
#include <det/liveness/wait_page.hpp>
#include <det/telemetry/waits/wait_reports.hpp>

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>

namespace det::launch::wrap_rank {

/// Reads the page on which the ranks of this node record how long they wait for others, and writes the sums
/// to the node's journal. After an error, only these figures are lost.
class WaitSampler {
public:
    static constexpr std::chrono::seconds interval{1};

    /// Shows the supervisor that the ranks of this node go on.
    using ShowActivity = std::function<void(std::uint64_t activity)>;

    /// \param page may not exist yet
    /// \param show_activity called when telemetry::activity_of() the node's ranks has changed; may be empty
    WaitSampler(std::filesystem::path page, std::filesystem::path journal, ShowActivity show_activity,
                Clock const& clock);
    ~WaitSampler() { write_all(); }
    WaitSampler(WaitSampler const&) = delete;
    WaitSampler& operator=(WaitSampler const&) = delete;

    /// Reads the page and writes a report if one is due. Must be called once per `interval`.
    void look();
    /// Writes the waits since the last report now, even if they are too short to be written by look().
    void write_all();

private:
    bool open_page();
    void write(std::vector<liveness::RankWaits> const& ranks, std::chrono::milliseconds reported_min);

    std::filesystem::path page_path_, journal_path_;
    ShowActivity show_activity_;
    Clock const& clock_;
    std::optional<liveness::WaitPage> page_;
    std::optional<journal::MetricJournal> journal_;
    telemetry::WaitReporter reporter_;
    std::uint64_t shown_activity_ = 0;
    std::chrono::steady_clock::time_point next_report_at_;
};

}  // namespace det::launch::wrap_rank
