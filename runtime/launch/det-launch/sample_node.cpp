#include "sample_node.hpp"

#include <det/journal/metric_journal.hpp>
#include <det/telemetry/system/sampler.hpp>

#include "wait_for_input_end.hpp"

namespace det::launch {
namespace {

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
            goes_on = wait_for_input_end(next, input, clock) == InputWait::time_is_over;
        }
        // If the write fails, only these averages are lost: the next one may succeed.
        (void)write(*journal, sampler.take_averages(), clock.now());
    }
    return Ok{};
}

}  // namespace det::launch
