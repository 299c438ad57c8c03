#pragma once
#include <det/foundation/clock.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/result.hpp>
#include <det/protocol/metric_frames.hpp>
#include <det/protocol/record.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace det::telemetry {

/// Writes metrics as an event file, the format of TensorBoard. Not thread-safe, except that write() may run
/// beside add() and take().
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
    /// Adds the numbers and booleans of a report that may have other values too. A rank other than the chief
    /// has curves of its own: "GROUP/NAME [rank=3]".
    void add(MetricsReported const& report);
    /// The encoded reports that were added since the last call. The caller passes them to write(), which may
    /// take long, and may add reports meanwhile.
    std::string take() { return std::exchange(added_, std::string()); }
    /// Appends bytes of take() to the file, after the bytes that could not be written before. If that fails,
    /// the file keeps its whole records, and the next call tries again. Then bytes beyond waiting_limit_bytes
    /// are lost.
    Status write(std::string_view bytes);
    /// Passes take() to write().
    Status flush() { return write(take()); }

    static constexpr std::size_t waiting_limit_bytes = std::size_t{8} << 20;

private:
    EventFile(std::filesystem::path path, UniqueFd file) : path_(std::move(path)), file_(std::move(file)) {}

    std::filesystem::path path_;
    UniqueFd file_;
    std::string added_;
    std::string waiting_;             // passed to write() and not written yet
    std::int64_t size_bytes_ = 0;     // up to the end of the last whole record
    bool may_be_incomplete_ = false;  // the file may have part of a record after size_bytes_
};

}  // namespace det::telemetry
