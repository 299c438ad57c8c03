#include <det/wrap_rank/line_splitter.hpp>

#include <algorithm>

namespace det::wrap_rank {

std::size_t LineSplitter::find_end(std::string_view bytes) {
    auto const newline = std::min(bytes.find('\n'), bytes.size());
    return std::min(bytes.substr(0, newline).find('\r'), newline);
}

}  // namespace det::wrap_rank
