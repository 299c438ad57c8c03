#pragma once
#include <string>
#include <string_view>

namespace det::tracker::web {

/// Compresses the text into the format of gzip(1).
std::string compress_gzip(std::string_view text);

}  // namespace det::tracker::web
