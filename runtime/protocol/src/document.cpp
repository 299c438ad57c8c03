#include <det/foundation/bytes.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/document.hpp>
#include <det/protocol/json.hpp>

#include <fmt/format.h>

namespace det {
namespace {

constexpr auto claim_key = "det";
constexpr auto checksum_key = "crc32c";
constexpr auto body_key = "body";

std::string checksum_of(Json const& body) { return format_hex32(crc32c(to_line(body))); }

bool has_text(Json const& json, char const* key) { return json.contains(key) && json.at(key).is_string(); }

}  // namespace

std::string render_document(DocumentKind kind, Json const& body) {
    // Formatted by hand, so that the kind comes first: a JSON object would sort its keys.
    return fmt::format("{{\n\"{}\": \"{}/{}\",\n\"{}\": \"{}\",\n\"{}\": {}\n}}\n", claim_key, kind.name,
                       kind.version, checksum_key, checksum_of(body), body_key, to_lines(body, 1));
}

Result<AnyDocument> parse_any_document(std::string_view text) {
    auto document = try_parse_json(text);
    if (document.is_discarded()) return Error{codes::damaged, "it is not JSON, or was cut short"};
    bool const ours = document.is_object() && has_text(document, claim_key) &&
                      has_text(document, checksum_key) && document.contains(body_key);
    if (!ours) return Error{codes::damaged, "it is not a file of det-submit"};
    if (document.at(checksum_key) != checksum_of(document.at(body_key))) {
        return Error{codes::damaged, "its checksum does not match what it holds"};
    }
    return AnyDocument{document.at(claim_key), std::move(document.at(body_key))};
}

Result<Json> parse_document(DocumentKind kind, std::string_view text) {
    DET_TRY_ASSIGN(auto document, parse_any_document(text));
    auto const slash = document.claim.find('/');
    auto const version =
        slash == std::string::npos ? std::nullopt : parse_integer<int>(document.claim.substr(slash + 1));
    if (document.claim.substr(0, slash) != kind.name || !version) {
        return Error{codes::damaged, fmt::format("it is a '{}', not a '{}'", document.claim, kind.name)};
    }
    if (*version > kind.version) {
        return Error{codes::newer_format,
                     fmt::format("it is '{}', this program reads up to '{}/{}'", document.claim, kind.name,
                                 kind.version),
                     "use the det-submit that wrote it"};
    }
    return std::move(*document.body);
}

}  // namespace det
