#include "error_message.hpp"

#include <det/protocol/document.hpp>

#include <algorithm>
#include <array>

namespace det::checkpoint {
namespace {

/// Those that saving and loading give.
constexpr std::array known{codes::misuse,       codes::file_system,        codes::permission,
                           codes::superseded,   codes::checkpoint_damaged, codes::no_such_checkpoint,
                           codes::no_such_file, codes::bad_value,          codes::timed_out,
                           codes::newer_format, codes::interrupted,        codes::not_a_directory,
                           codes::not_a_file,   codes::not_supported,      codes::damaged};

}  // namespace

std::string render_error(Error const& error) {
    return to_line(Json{{"code", error.code.name}, {"message", error.message}, {"hint", error.hint}});
}

Error parse_error(std::string_view text) {
    auto const parts = decode_json("an error", [&] {
        auto const json = Json::parse(text);
        return std::array<std::string, 3>{json.at("code"), json.at("message"), json.at("hint")};
    });
    if (!parts) return parts.error();
    auto const& [name, message, hint] = *parts;
    auto const code = std::ranges::find(known, name, &ErrorCode::name);
    return Error{code == known.end() ? codes::internal : *code, message, hint};
}

}  // namespace det::checkpoint
