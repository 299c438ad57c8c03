#include "logs/log_merge.hpp"

#include <algorithm>
#include <vector>

namespace det::cli {
namespace {

constexpr std::size_t memory = std::size_t{64} << 20;
constexpr std::size_t buffer_max = std::size_t{1} << 20;
constexpr std::size_t buffer_min = std::size_t{16} << 10;  // the longest line fits

struct Source {
    NodeLog* log;
    LogReader reader;
};

/// Returns true if the line of `a` comes after the line of `b`: by time, then by node number. The order of
/// the heap, whose top is the earliest line.
bool is_later(Source const* a, Source const* b) {
    int const order = a->reader.line().time.compare(b->reader.line().time);
    return order != 0 ? order > 0 : a->log->node > b->log->node;
}

}  // namespace

Result<Go> merge_node_logs(std::span<NodeLog> logs, std::uint32_t run, LogFilter const& filter, TornLine torn,
                           LogSink const& sink) {
    auto const buffer_size =
        std::clamp(memory / std::max<std::size_t>(logs.size(), 1), buffer_min, buffer_max);
    std::vector<Source> sources;
    sources.reserve(logs.size());
    std::vector<Source*> heap;
    for (auto& log : logs) {
        auto& source = sources.emplace_back(Source{&log, {log.path, log.offset, buffer_size, filter, torn}});
        DET_TRY_ASSIGN(bool const has_line, source.reader.next());
        log.offset = source.reader.offset();
        if (has_line) heap.push_back(&source);
    }
    std::make_heap(heap.begin(), heap.end(), is_later);
    while (!heap.empty()) {
        std::pop_heap(heap.begin(), heap.end(), is_later);
        auto& source = *heap.back();
        auto line = source.reader.line();
        line.run = run;
        line.node = source.log->node;
        if (sink(line) == Go::stop) return Go::stop;
        DET_TRY_ASSIGN(bool const has_line, source.reader.next());
        source.log->offset = source.reader.offset();
        if (has_line) {
            std::push_heap(heap.begin(), heap.end(), is_later);
        } else {
            heap.pop_back();
        }
    }
    return Go::on;
}

}  // namespace det::cli
