#pragma once
#include <string>
#include <string_view>

namespace det {

/// RFC 4648, with padding.
std::string encode_base64(std::string_view bytes);

}  // namespace det
