#include <det/checkpoint/error_exchange.hpp>
#include <det/protocol/document.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace det::checkpoint {
namespace {

/// The codes of errors that saving and loading return.
constexpr std::array known{codes::misuse,       codes::file_system,        codes::permission,
                           codes::superseded,   codes::checkpoint_damaged, codes::no_such_checkpoint,
                           codes::no_such_file, codes::bad_value,          codes::timed_out,
                           codes::newer_format, codes::interrupted,        codes::not_a_directory,
                           codes::not_a_file,   codes::not_supported,      codes::damaged,
                           codes::transport};

constexpr char value_mark = 'v', error_mark = 'e';

Error parse_error(std::string const& text) {
    auto const parts = decode_json("an error", [&] {
        auto const json = parse_json(text);
        return std::array<std::string, 3>{json.at("code"), json.at("message"), json.at("hint")};
    });
    if (!parts) return parts.error();
    auto const& [name, message, hint] = *parts;
    auto const code = std::ranges::find(known, name, &ErrorCode::name);
    return Error{code == known.end() ? codes::internal : *code, message, hint};
}

}  // namespace

std::string Codec<std::vector<CheckpointFile>>::encode(std::vector<CheckpointFile> const& files) {
    CheckpointManifest carrier;
    carrier.files = files;
    return render_manifest(carrier);
}

Result<std::vector<CheckpointFile>> Codec<std::vector<CheckpointFile>>::decode(std::string const& text) {
    DET_TRY_ASSIGN(auto carrier, parse_manifest(text));
    return std::move(carrier.files);
}

std::string encode_result(Result<std::string> const& own) {
    if (own) return value_mark + *own;
    auto const& error = own.error();
    return error_mark +
           to_line(Json{{"code", error.code.name}, {"message", error.message}, {"hint", error.hint}});
}

Result<std::string> decode_result(std::string const& text) {
    if (text.starts_with(value_mark)) return text.substr(1);
    if (text.starts_with(error_mark)) return parse_error(text.substr(1));
    return Error{codes::internal, "a rank sent neither a value nor an error"};
}

Error reported_by(std::size_t rank, std::size_t ranks, Error error) {
    return ranks == 1 ? error : std::move(error).noting(fmt::format("reported by rank {}", rank));
}

Status agree_on_status(Peers& peers, Status const& own) {
    DET_TRY(allgather_values(peers, own));
    return Ok{};
}

}  // namespace det::checkpoint
