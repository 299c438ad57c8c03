#include "row.hpp"

#include <det/foundation/text.hpp>
#include <det/protocol/document.hpp>
#include <det/protocol/json.hpp>

#include <fmt/format.h>

namespace det::measure {
namespace {

/// Formats with two decimals below 100 and with fewer above, where more digits would only show noise.
std::string digits(double value) {
    if (value >= 1000) return fmt::format("{:.0f}", value);
    if (value >= 100) return fmt::format("{:.1f}", value);
    return fmt::format("{:.2f}", value);
}

double ratio_of(Row const& row) { return row.times.max_us / row.peer->times.max_us; }

Json to_json(Times const& times) {
    return {{"min_us", times.min_us}, {"mean_us", times.mean_us}, {"max_us", times.max_us}};
}

}  // namespace

double algorithm_gb_per_s(Row const& row) {
    return static_cast<double>(row.size_bytes) / (row.times.max_us * 1e-6) / 1e9;
}

double bus_gb_per_s(Row const& row) { return algorithm_gb_per_s(row) * row.bus_factor; }

std::string render_heading(Peer peer) {
    auto heading = fmt::format("{:<14} {:>10} {:>9} {:>9} {:>9} {:>7} {:>8} {:>5}  {:<24}", "operation",
                               "bytes", "min us", "mean us", "max us", "GB/s", "bus GB/s", "wrong", "way");
    if (peer == Peer::mpi) heading += fmt::format(" {:>9} {:>6} {:>5}", "mpi us", "ratio", "wrong");
    return std::string(trim(heading));
}

std::string render_line(Row const& row) {
    auto line = fmt::format("{:<14} {:>10} {:>9} {:>9} {:>9} {:>7} {:>8} {:>5}  {:<24}", row.operation,
                            row.size_bytes, digits(row.times.min_us), digits(row.times.mean_us),
                            digits(row.times.max_us), digits(algorithm_gb_per_s(row)),
                            digits(bus_gb_per_s(row)), row.wrong, row.algorithm);
    if (row.peer) {
        line += fmt::format(" {:>9} {:>6.2f} {:>5}", digits(row.peer->times.max_us), ratio_of(row),
                            row.peer->wrong);
    }
    return std::string(trim(line));
}

std::string render_json(Row const& row) {
    Json json{{"operation", row.operation},  {"bytes", row.size_bytes}, {"count", row.count},
              {"dtype", row.type},           {"ranks", row.ranks},      {"way", row.algorithm},
              {"iterations", row.iterations}};
    json.update(to_json(row.times));
    json["algorithm_gb_per_s"] = algorithm_gb_per_s(row);
    json["bus_gb_per_s"] = bus_gb_per_s(row);
    json["wrong"] = row.wrong;
    if (row.peer) {
        auto& peer = json["peer"] = to_json(row.peer->times);
        peer["name"] = row.peer->name;
        peer["wrong"] = row.peer->wrong;
        peer["ratio"] = ratio_of(row);
    }
    return to_line(json);
}

}  // namespace det::measure
