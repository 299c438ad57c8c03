#include "sample_node.hpp"

#include <det/foundation/polling.hpp>
#include <det/journal/metric_journal.hpp>
#include <det/telemetry/system/sampler.hpp>

#include <cerrno>
#include <poll.h>
#include <unistd.h>

namespace det::launch {
namespace {

using TimePoint = std::chrono::steady_clock::time_point;

/// Waits until the time.
/// \return false if `input` has ended before
bool wait_until(TimePoint time, int input, Clock const& clock) {
    for (;;) {
        auto const now = clock.steady_now();
        if (now >= time) return true;
        pollfd polled{input, POLLIN, 0};
        if (::poll(&polled, 1, poll_timeout_ms(time, now)) <= 0) continue;
        char ignored[64];
        auto const size = ::read(input, ignored, sizeof ignored);
        if (size == 0 || (size < 0 && errno != EINTR)) return false;
    }
}

Status write(journal::MetricJournal& journal, std::vector<telemetry::SystemReport> const& reports,
             UtcTime time) {
    std::vector<Metric> metrics;
    for (auto const& report : reports) {
        metrics.clear();
        for (std::size_t i = 0; i < report.names.size(); ++i)
            metrics.push_back({report.names[i], report.values[i]});
        journal.add(time, report.group, metrics);
    }
    return journal.write();
}

}  // namespace

Status sample_node(NodeSampling const& request, int input, Clock const& clock) {
    auto journal = journal::MetricJournal::open(request.journal);
    if (!journal && journal.error().code == codes::misuse) return Ok{};
    if (!journal) return journal.error();
    telemetry::SystemSampler sampler("/", telemetry::open_gpus());
    auto next = clock.steady_now();
    bool goes_on = true;
    while (goes_on) {
        for (unsigned i = 0; i < request.samples_per_report && goes_on; ++i) {
            sampler.add_sample(clock.steady_now());
            next = std::max(next + request.interval, clock.steady_now());
            goes_on = wait_until(next, input, clock);
        }
        // If the write fails, only these averages are lost: the next one may succeed.
        (void)write(*journal, sampler.take_averages(), clock.now());
    }
    return Ok{};
}

}  // namespace det::launch
