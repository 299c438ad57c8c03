#include "tar_header.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace det::pack {
namespace {

constexpr std::size_t name_size_max = 100;

/// Fields of a ustar header: where they begin and how long they are.
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
    void put_octal(Field field, std::uint64_t value) {
        put(field, fmt::format("{:0{}o}", value, field.size - 1));
    }

    /// With its checksum, which is counted as if its own field were blanks.
    std::string finish() {
        put(checksum_field, std::string(checksum_field.size, ' '));
        unsigned sum = 0;
        for (char const c : bytes_) sum += static_cast<unsigned char>(c);
        put(checksum_field, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
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
    block.put_octal(time_field, 0);
    block.put(type_field, std::string(1, type));
    block.put(link_field, link);
    block.put(magic_field, std::string("ustar\0"
                                       "00",
                                       8));
    return block.finish();
}

/// "<length> <key>=<value>\n", where the length counts itself.
std::string pax_record(std::string_view key, std::string_view value) {
    auto const rest = key.size() + value.size() + 3;
    auto length = rest + 1;
    while (std::to_string(length).size() + rest != length) length = std::to_string(length).size() + rest;
    return fmt::format("{} {}={}\n", length, key, value);
}

}  // namespace

std::string render_tar_header(Member const& member) {
    auto const path = member.kind == Member::Kind::directory ? member.path + "/" : member.path;
    std::string records;
    if (path.size() > name_size_max) records += pax_record("path", path);
    if (member.link_target.size() > name_size_max) records += pax_record("linkpath", member.link_target);
    std::string out;
    if (!records.empty()) {
        out += render_block("pax", 'x', 0644, records.size(), "");
        out += records + tar_padding(records.size());
    }
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
