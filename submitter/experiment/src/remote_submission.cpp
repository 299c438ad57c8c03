#include <det/experiment/load_config.hpp>
#include <det/experiment/remote_submission.hpp>
#include <det/foundation/text.hpp>
#include <det/pack/context_tree.hpp>
#include <det/pack/pack.hpp>
#include <det/protocol/document.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <istream>

namespace det::experiment {
namespace {

constexpr int header_version = 1;
// JSON may need six bytes for one of the configuration.
constexpr std::size_t header_limit_bytes = 6 * config_limit_bytes + 4096;
// Packing adds a tar header and padding to each file.
constexpr std::uint64_t archive_limit_bytes = 4 * pack::context_limit_bytes;
constexpr std::size_t hash_digits = 64;

bool is_hash(std::string_view text) {
    return text.size() == hash_digits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Error no_submission(std::string what) {
    return {codes::damaged, std::move(what), "--receive is for 'det-submit experiment create --host'"};
}

Result<std::string> read_header_line(std::istream& in) {
    std::string line;
    for (int byte = in.get(); byte != std::istream::traits_type::eof(); byte = in.get()) {
        if (byte == '\n') return line;
        if (line.size() == header_limit_bytes) break;
        line += static_cast<char>(byte);
    }
    return no_submission("standard input does not begin with a submission");
}

}  // namespace

std::string render_header(RemoteSubmission const& submission) {
    Json json{{"det_submission", header_version},
              {"config_name", submission.config_name},
              {"config", submission.config_text},
              {"archive_bytes", submission.archive_bytes}};
    if (submission.code)
        json["code"] = {{"sha256", submission.code->sha256},
                        {"size_bytes", submission.code->size_bytes},
                        {"has_startup_hook", submission.code->has_startup_hook}};
    return to_line(json) + "\n";
}

Result<RemoteSubmission> parse_header(std::string_view line) {
    auto const json = try_parse_json(line);
    if (!json.is_object() || !json.contains("det_submission"))
        return no_submission("standard input does not begin with a submission");
    auto parsed = decode_json("submission", [&] {
        RemoteSubmission submission;
        bool const is_newer = json.at("det_submission").get<int>() > header_version;
        if (is_newer) return submission;
        submission.config_name = json.at("config_name");
        submission.config_text = json.at("config");
        submission.archive_bytes = json.at("archive_bytes");
        if (auto const code = json.find("code"); code != json.end())
            submission.code =
                ContextSpec{code->at("sha256"), code->at("size_bytes"), code->at("has_startup_hook")};
        return submission;
    });
    if (!parsed) return no_submission("the header of the submission is damaged");
    if (json["det_submission"].get<int>() > header_version)
        return Error{codes::newer_format, "a newer det-submit has sent this submission",
                     "install the same version on the login node"};
    bool const is_sound = parsed->code.has_value() == (parsed->archive_bytes > 0) &&
                          parsed->archive_bytes <= archive_limit_bytes &&
                          (!parsed->code || is_hash(parsed->code->sha256));
    if (!is_sound) return no_submission("the header of the submission is damaged");
    return *std::move(parsed);
}

Result<RemoteSubmission> receive_submission(std::istream& in, RootLayout const& root) {
    DET_TRY_ASSIGN(auto const line, read_header_line(in));
    DET_TRY_ASSIGN(auto submission, parse_header(line));
    if (!submission.code) return submission;
    auto left = submission.archive_bytes;
    auto const read = [&](std::span<char> buffer) -> std::size_t {
        auto const wanted = std::min<std::uint64_t>(left, buffer.size());
        in.read(buffer.data(), static_cast<std::streamsize>(wanted));
        auto const count = static_cast<std::size_t>(in.gcount());
        left -= count;
        return count;
    };
    DET_TRY(pack::receive_context(read, submission.code->sha256, root.contexts()));
    return submission;
}

}  // namespace det::experiment
