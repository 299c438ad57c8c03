#include "wait_sampler.hpp"

#include <utility>

namespace det::launch::wrap_rank {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds report_interval = 10s;
constexpr auto reported_min = report_interval / 100;
constexpr std::chrono::milliseconds only_new_ranks = 24h;

}  // namespace

WaitSampler::WaitSampler(std::filesystem::path page, std::filesystem::path journal,
                         ShowActivity show_activity, Clock const& clock)
    : page_path_(std::move(page)),
      journal_path_(std::move(journal)),
      show_activity_(std::move(show_activity)),
      clock_(clock),
      next_report_at_(clock.steady_now() + report_interval) {}

bool WaitSampler::open_page() {
    if (page_) return true;
    auto page = liveness::WaitPage::open_for_reading(page_path_);
    if (page) page_.emplace(*std::move(page));
    return page_.has_value();
}

void WaitSampler::look() {
    if (!open_page()) return;
    auto const ranks = page_->read();
    auto const activity = telemetry::activity_of(ranks);
    if (std::exchange(shown_activity_, activity) != activity && show_activity_) show_activity_(activity);
    auto const now = clock_.steady_now();
    bool const is_due = now >= next_report_at_;
    if (is_due) next_report_at_ = now + report_interval;
    write(ranks, is_due ? reported_min : only_new_ranks);
}

void WaitSampler::write_all() {
    if (open_page()) write(page_->read(), 1ms);
}

void WaitSampler::write(std::vector<liveness::RankWaits> const& ranks, std::chrono::milliseconds min_wait) {
    auto const reports = reporter_.take(ranks, min_wait);
    if (reports.empty()) return;
    if (!journal_) {
        auto journal = journal::MetricJournal::open(journal_path_);
        if (!journal) return;
        journal_.emplace(*std::move(journal));
    }
    std::vector<Metric> metrics;
    for (auto const& report : reports) {
        metrics.clear();
        for (std::size_t i = 0; i < report.names.size(); ++i)
            metrics.push_back({report.names[i], report.values[i]});
        journal_->add(clock_.now(), telemetry::waits_group, metrics);
    }
    (void)journal_->write();
}

}  // namespace det::launch::wrap_rank
