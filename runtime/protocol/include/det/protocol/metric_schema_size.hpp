#pragma once
#include <det/protocol/metric_frames.hpp>

#include <cstddef>
#include <span>
#include <string_view>

namespace det {

/// The largest size of the metric-schema record that a report of these metrics may need. It is exact, except
/// for the digits of the schema's number, if it is larger than `estimate_limit_bytes`; otherwise it may be
/// an estimate, which costs less time, of at most that many bytes.
/// \param rank that makes the report
std::size_t schema_size_bytes_max(Rank rank, std::string_view group, std::span<Metric const> metrics,
                                  std::size_t estimate_limit_bytes);

}  // namespace det
