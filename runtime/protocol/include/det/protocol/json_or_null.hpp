#pragma once
#include <det/foundation/clock.hpp>
#include <det/protocol/json.hpp>

#include <optional>
#include <string>

namespace det {

// A field whose value may be absent is null then, and not left out.

template <class T>
Json json_or_null(std::optional<T> const& value) {
    return value ? Json(*value) : Json(nullptr);
}

inline Json json_or_null(std::optional<UtcTime> const& time) {
    return time ? Json(format_utc(*time)) : Json(nullptr);
}

/// An empty text is absent.
inline Json text_or_null(std::string const& text) { return text.empty() ? Json(nullptr) : Json(text); }

}  // namespace det
