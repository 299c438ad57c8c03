#include "sample_node.hpp"

#include <det/foundation/polling.hpp>
#include <det/journal/writer.hpp>
#include <det/protocol/metric_frames.hpp>
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

class NodeReports {
public:
    explicit NodeReports(journal::JournalWriter journal) : journal_(std::move(journal)) {}

    Status write(std::vector<telemetry::SystemReport> const& reports, UtcTime time) {
        std::vector<Metric> metrics;
        for (auto const& report : reports) {
            metrics.clear();
            for (std::size_t i = 0; i < report.names.size(); ++i)
                metrics.push_back({report.names[i], report.values[i]});
            frames_.add(time, report.group, 0, metrics);
        }
        for (auto const& frame : frames_.take()) {
            auto written = journal_.append(frame);
            if (written) continue;
            frames_ = {};  // the schemas have to be written again
            return written;
        }
        return Ok{};
    }

private:
    journal::JournalWriter journal_;
    MetricFrameWriter frames_;
};

}  // namespace

Status sample_node(NodeSampling const& request, int input, Clock const& clock) {
    auto journal = journal::JournalWriter::open(request.journal);
    if (!journal && journal.error().code == codes::misuse) return Ok{};
    if (!journal) return journal.error();
    NodeReports reports(*std::move(journal));
    telemetry::SystemSampler sampler("/", telemetry::open_nvml());
    auto next = clock.steady_now();
    bool goes_on = true;
    while (goes_on) {
        for (unsigned i = 0; i < request.samples_per_report && goes_on; ++i) {
            sampler.sample(clock.steady_now());
            next = std::max(next + request.interval, clock.steady_now());
            goes_on = wait_until(next, input, clock);
        }
        // A file system that cannot be written now may be written later: what is lost is these averages.
        (void)reports.write(sampler.take_averages(), clock.now());
    }
    return Ok{};
}

}  // namespace det::launch
