#include "tar_header.hpp"

#include <algorithm>

namespace det::pack {
namespace {

constexpr std::size_t name_size_max = 100;
// 2 January 1980: a zip file (a Python wheel) cannot store an older time, in any time zone.
constexpr std::uint64_t time_s = 315'619'200;

/// Fields of a ustar header: offset and size.
struct Field {
    std::size_t offset, size;
};
constexpr Field name_field{0, 100}, mode_field{100, 8}, uid_field{108, 8}, gid_field{116, 8},
    size_field{124, 12}, time_field{136, 12}, checksum_field{148, 8}, type_field{156, 1},
    link_field{157, 100}, magic_field{257, 8};

class Block {
public:
    void put(Field field, std::string_view text) {
        std::copy_n(text.begin(), std::min(text.size(), field.size),
                    bytes_.begin() + static_cast<long>(field.offset));
    }
    /// Writes an octal number with leading zeros and one byte after it.
    void put_octal(Field field, std::uint64_t value) {
        for (auto at = field.offset + field.size - 1; at-- > field.offset; value /= 8)
            bytes_[at] = static_cast<char>('0' + value % 8);
    }

    /// Adds the checksum, which counts its own field as spaces.
    std::string finish() {
        put(checksum_field, std::string(checksum_field.size, ' '));
        unsigned sum = 0;
        for (char const c : bytes_) sum += static_cast<unsigned char>(c);
        put_octal({checksum_field.offset, checksum_field.size - 1}, sum);
        bytes_[checksum_field.offset + checksum_field.size - 2] = '\0';
        return bytes_;
    }

private:
    std::string bytes_ = std::string(tar_block_bytes, '\0');
};

std::string render_block(std::string_view name, char type, unsigned mode, std::uint64_t size,
                         std::string_view link) {
    Block block;
    block.put(name_field, name);
    block.put_octal(mode_field, mode);
    block.put_octal(uid_field, 0);
    block.put_octal(gid_field, 0);
    block.put_octal(size_field, size);
    block.put_octal(time_field, time_s);
    block.put(type_field, std::string(1, type));
    block.put(link_field, link);
    block.put(magic_field, std::string("ustar\0"
                                       "00",
                                       8));
    return block.finish();
}

/// GNU's extension for a longer name or target, which is bytes in any encoding. A pax header would declare
/// them UTF-8.
std::string long_name(char type, std::string_view name) {
    auto const size = name.size() + 1;
    std::string out = render_block("././@LongLink", type, 0644, size, "");
    out += name;
    return out + '\0' + tar_padding(size);
}

}  // namespace

std::string render_tar_header(Member const& member) {
    auto const path = member.kind == Member::Kind::directory ? member.path + "/" : member.path;
    std::string out;
    if (member.link_target.size() > name_size_max) out += long_name('K', member.link_target);
    if (path.size() > name_size_max) out += long_name('L', path);
    switch (member.kind) {
        case Member::Kind::directory:
            return out + render_block(path, '5', 0755, 0, "");
        case Member::Kind::link:
            return out + render_block(path, '2', 0777, 0, member.link_target);
        case Member::Kind::file:
            break;
    }
    return out + render_block(path, '0', member.is_executable ? 0755 : 0644, member.size_bytes, "");
}

std::string tar_padding(std::uint64_t size_bytes) {
    auto const over = size_bytes % tar_block_bytes;
    return std::string(over == 0 ? 0 : tar_block_bytes - over, '\0');
}

std::string tar_end() { return std::string(2 * tar_block_bytes, '\0'); }

}  // namespace det::pack
