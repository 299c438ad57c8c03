#pragma once
#include <det/foundation/result.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/protocol/experiment_spec.hpp>

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

namespace det::experiment {

/// What `experiment create --host` sends to det-submit on a login node: this header as a line of JSON, then
/// the bytes of the packed code.
struct RemoteSubmission {
    std::string config_name;  // of the file, for messages
    std::string config_text;
    std::optional<ContextSpec> code;
    std::uint64_t archive_bytes = 0;
};

/// Returns the header with its newline. Pure.
std::string render_header(RemoteSubmission const& submission);
/// Parses a header. codes::newer_format if a newer det-submit has sent it; codes::damaged for anything else
/// that is no header. Pure.
Result<RemoteSubmission> parse_header(std::string_view line);

/// Reads a submission and stores its code in the contexts of the root. codes::damaged if the stream ends
/// early or the code does not have its hash: then nothing is stored.
Result<RemoteSubmission> receive_submission(std::istream& in, RootLayout const& root);

}  // namespace det::experiment
