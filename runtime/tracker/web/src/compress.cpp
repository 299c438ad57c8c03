#include "compress.hpp"

#include <cassert>
#include <zlib.h>

namespace det::tracker::web {

std::string compress_gzip(std::string_view text) {
    constexpr int gzip_format = 16, window_bits = 15, memory_level = 9;
    z_stream stream{};
    [[maybe_unused]] auto const begun = ::deflateInit2(
        &stream, Z_BEST_COMPRESSION, Z_DEFLATED, gzip_format + window_bits, memory_level, Z_DEFAULT_STRATEGY);
    assert(begun == Z_OK);
    std::string compressed(::deflateBound(&stream, text.size()), '\0');
    // zlib does not write to its input, although next_in is not a pointer to const.
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(compressed.data());
    stream.avail_out = static_cast<uInt>(compressed.size());
    [[maybe_unused]] auto const done = ::deflate(&stream, Z_FINISH);
    assert(done == Z_STREAM_END);
    compressed.resize(stream.total_out);
    ::deflateEnd(&stream);
    return compressed;
}

}  // namespace det::tracker::web
