#include "private_cache.hpp"

#include <det/experiment/root_directory.hpp>
#include <det/foundation/files.hpp>

namespace det::experiment {

std::optional<std::string> read_private_text(std::filesystem::path const& file, std::size_t limit_bytes) {
    if (!require_private(file.parent_path(), "", "") || !require_private(file, "", "")) return std::nullopt;
    auto text = read_file(file, limit_bytes);
    return text ? std::optional(*std::move(text)) : std::nullopt;
}

std::optional<Json> read_private_cache(std::filesystem::path const& file, std::size_t limit_bytes) {
    auto const text = read_private_text(file, limit_bytes);
    auto json = text ? try_parse_json(*text) : Json(Json::value_t::discarded);
    return json.is_discarded() ? std::nullopt : std::optional(std::move(json));
}

void write_private_text(std::filesystem::path const& file, std::string_view text) {
    auto const directory = file.parent_path();
    if (!make_directories(directory) || !require_private(directory, "", "")) return;
    (void)write_file(file, text, 0600);
}

void write_private_cache(std::filesystem::path const& file, Json const& json) {
    write_private_text(file, to_line(json) + "\n");
}

}  // namespace det::experiment
