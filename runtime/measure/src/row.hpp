#pragma once
#include "arguments.hpp"

namespace det::measure {

/// The minimum, mean and maximum over the ranks of a rank's mean time of an iteration. The time of an
/// operation is max_us, that of the slowest rank.
struct Times {
    double min_us = 0;
    double mean_us = 0;
    double max_us = 0;
};

/// The result for one operation at one size.
struct Row {
    std::string operation;
    std::size_t size_bytes = 0;
    std::size_t count = 0;  // elements
    std::string type;
    int ranks = 1;
    std::string algorithm;  // "way" in the output; empty: unknown
    std::uint32_t iterations = 0;
    Times times = {};
    double bus_factor = 1;
    std::uint64_t wrong = 0;  // number of wrong elements
    struct PeerResult {
        std::string name;
        Times times;
        std::uint64_t wrong = 0;
    };
    std::optional<PeerResult> peer = {};
};

/// The algorithm bandwidth in GB/s. Multiplied by bus_factor it is the bus bandwidth.
double algorithm_gb_per_s(Row const& row);
double bus_gb_per_s(Row const& row);

// Each of these renders one line, without a newline. Pure.

std::string render_heading(Peer peer);
std::string render_line(Row const& row);
std::string render_json(Row const& row);

}  // namespace det::measure
