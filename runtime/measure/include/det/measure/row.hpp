#pragma once
#include <det/measure/arguments.hpp>

namespace det::measure {

/// How long an operation took: the mean of an iteration, and what ranks make of it. The operation's time is
/// that of its slowest rank.
struct Times {
    double min_us = 0;
    double mean_us = 0;
    double max_us = 0;
};

/// One operation at one size.
struct Row {
    std::string operation;
    std::size_t size_bytes = 0;
    std::size_t count = 0;  // elements
    std::string type;
    int ranks = 1;
    std::string way;  // how it was done; empty: not known
    std::uint32_t iterations = 0;
    Times times;
    double bus_factor = 1;
    std::uint64_t wrong = 0;  // elements
    struct PeerResult {
        std::string name;
        Times times;
        std::uint64_t wrong = 0;
    };
    std::optional<PeerResult> peer = {};
};

/// Bytes of the operation per second, in GB: algorithm bandwidth; times bus_factor: bus bandwidth.
double algorithm_gb_per_s(Row const& row);
double bus_gb_per_s(Row const& row);

/// Lines without their ends. Pure.
std::string render_heading(Peer peer);
std::string render_line(Row const& row);
std::string render_json(Row const& row);

}  // namespace det::measure
