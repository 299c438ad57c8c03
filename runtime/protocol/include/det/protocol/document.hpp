#pragma once
#include <det/foundation/result.hpp>
#include <det/protocol/json_value.hpp>

#include <string>
#include <string_view>

namespace det {

/// The kinds of small files that we write as JSON, with the newest version that this program reads and
/// writes.
struct DocumentKind {
    std::string_view name;
    int version;
};

namespace documents {
inline constexpr DocumentKind spec{"spec", 1};
inline constexpr DocumentKind event{"event", 1};
inline constexpr DocumentKind desired{"desired", 1};
inline constexpr DocumentKind manifest{"manifest", 2};
}  // namespace documents

/// {"det": "spec/1", "crc32c": "89abcdef", "body": ...}: the checksum is over the body as rendered without
/// white space and with sorted keys, so that a person may reindent the file (FORMATS.md).
std::string render_document(DocumentKind kind, Json const& body);

/// The body, if it is whole and of this kind. A newer version is codes::newer_format.
Result<Json> parse_document(DocumentKind kind, std::string_view text);

/// The kind and version that a document claims ("spec/1") and its body, for `det-submit dump`.
struct AnyDocument {
    std::string claim;
    JsonValue body;
};
Result<AnyDocument> parse_any_document(std::string_view text);

/// JSON of ours on one line; bytes that are no UTF-8 are replaced rather than refused.
std::string to_line(Json const& json);

}  // namespace det
