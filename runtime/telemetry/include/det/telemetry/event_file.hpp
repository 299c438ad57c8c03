#pragma once
#include <det/foundation/clock.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/result.hpp>
#include <det/protocol/metric_frames.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace det::telemetry {

/// Writes metrics as an event file, the format of TensorBoard. Not thread-safe.
class EventFile {
public:
    /// Creates the file. Its name must contain "tfevents", or TensorBoard does not read it.
    /// \param resumed_from the step from which a run continues its trial: TensorBoard then discards the later
    ///     steps of earlier files in the directory. nullopt: the run starts from the beginning
    static Result<EventFile> create(std::filesystem::path const& path, UtcTime time,
                                    std::optional<std::uint64_t> resumed_from);

    /// Adds a report. The tags are "GROUP/NAME"; TensorBoard keeps values as 32-bit floating point numbers.
    void add(UtcTime time, std::string_view group, std::uint64_t steps_completed,
             std::span<Metric const> metrics);
    /// Writes what was added since the last call. If that fails, it is lost.
    Status flush();

private:
    EventFile(std::filesystem::path path, UniqueFd file) : path_(std::move(path)), file_(std::move(file)) {}

    std::filesystem::path path_;
    UniqueFd file_;
    std::string buffer_;
};

}  // namespace det::telemetry
