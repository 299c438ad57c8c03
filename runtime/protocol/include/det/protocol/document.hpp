#pragma once
#include <det/foundation/result.hpp>
#include <det/protocol/json_value.hpp>

#include <string>
#include <string_view>

namespace det {

/// A kind of small JSON file, with the version that this program writes and the newest one that it reads.
struct DocumentKind {
    std::string_view name;
    int version;
};

namespace documents {
inline constexpr DocumentKind spec{"spec", 1};
inline constexpr DocumentKind event{"event", 1};
inline constexpr DocumentKind desired{"desired", 1};
inline constexpr DocumentKind accepted_damage{"accepted-damage", 1};
inline constexpr DocumentKind manifest{"manifest", 2};
}  // namespace documents

/// Renders {"det": "spec/1", "crc32c": "89abcdef", "body": ...}. The checksum is that of the body without
/// white space and with sorted keys, so that a person may reindent the file (FORMATS.md).
std::string render_document(DocumentKind kind, Json const& body);

/// Returns the body. codes::damaged if the text is no document, has another checksum or is of another kind;
/// codes::newer_format for a newer version.
Result<Json> parse_document(DocumentKind kind, std::string_view text);

/// The kind and version that a document claims ("spec/1") and its body, for `det-submit dump`.
struct AnyDocument {
    std::string claim;
    JsonValue body;
};
Result<AnyDocument> parse_any_document(std::string_view text);

}  // namespace det
