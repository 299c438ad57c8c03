#pragma once
#include <det/foundation/result.hpp>
#include <det/protocol/json_value.hpp>
#include <det/protocol/metric_frames.hpp>

#include <array>
#include <cstddef>
#include <memory_resource>
#include <string>
#include <string_view>
#include <vector>

namespace det::core {

/// A list of metrics that allocates memory only for more than 100 of them.
struct MetricList {
    std::array<std::byte, 100 * sizeof(Metric) + 64> memory;
    std::pmr::monotonic_buffer_resource resource{memory.data(), memory.size()};
    std::pmr::vector<Metric> list{make()};

private:
    std::pmr::vector<Metric> make() {
        std::pmr::vector<Metric> empty(&resource);
        empty.reserve(100);
        return empty;
    }
};

/// Finds the numbers of a JSON object. Booleans and the texts "NaN", "Infinity" and "-Infinity" count as
/// numbers. The names in `numbers` are views of `metrics`.
/// \return false if another value is among them, or an integer beyond 2^53, which a double may not hold
///     exactly; `numbers` then has an undefined content
bool find_numbers(Json const& metrics, std::pmr::vector<Metric>& numbers);

/// Finds the numbers of a JSON object that is given as text. Also accepts NaN, Infinity and -Infinity without
/// quotes, as Python writes them.
/// \return false if the text has other values, names with escapes or beyond ASCII, or is no JSON object: then
///     the JSON library must parse it
bool parse_numbers(std::string_view metrics, std::pmr::vector<Metric>& numbers);

/// Replaces NaN and infinities, which JSON lacks, by their names.
void name_non_finite(Json& value);

/// Encodes the names and values of one rank's report, for mean_of_reports().
std::string encode_for_mean(std::span<Metric const> metrics);
/// Returns the mean of each metric over the encoded reports of all ranks. codes::misuse if their names
/// differ.
Result<std::vector<double>> mean_of_reports(std::vector<std::string> const& reports);

}  // namespace det::core
