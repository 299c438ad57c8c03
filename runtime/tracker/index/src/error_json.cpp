#include "error_json.hpp"

#include <det/protocol/document.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>
#include <array>

namespace det::tracker::index {
namespace {

/// The codes with which reading files below a root fails. parse_error() returns codes::file_system for
/// others.
constexpr std::array reading_codes{
    codes::damaged,      codes::journal_damaged,    codes::newer_format, codes::permission, codes::not_a_file,
    codes::no_such_file, codes::document_too_large, codes::unsafe_owner, codes::file_system};

}  // namespace

std::optional<std::string> render_error(std::optional<Error> const& error) {
    if (!error) return std::nullopt;
    return to_line(Json{{"code", error->code.name},
                        {"message", error->message},
                        {"hint", error->hint},
                        {"notes", error->notes}});
}

Error parse_error(std::string_view text) {
    Error parsed{codes::damaged, ""};
    auto const status = decode_json("error", [&] {
        auto const json = parse_json(text);
        auto const name = json.at("code").get<std::string>();
        auto const* const found = std::ranges::find(reading_codes, name, &ErrorCode::name);
        parsed = {found == reading_codes.end() ? codes::file_system : *found, json.at("message"),
                  json.at("hint")};
        parsed.notes = json.at("notes").get<std::vector<std::string>>();
        return Ok{};
    });
    return status ? parsed : status.error();
}

}  // namespace det::tracker::index
