#include <det/foundation/text.hpp>
#include <det/site/spank_plugin.hpp>

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <fmt/format.h>

namespace det::site {
namespace {

std::vector<std::string> words_of(std::string_view line) {
    std::vector<std::string> words;
    while (true) {
        line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
        if (line.empty()) return words;
        auto const end = std::min(line.find_first_of(" \t\r"), line.size());
        words.emplace_back(line.substr(0, end));
        line.remove_prefix(end);
    }
}

/// Reads a struct at an offset; nothing if it is beyond the end of the file.
template <class T>
std::optional<T> read_at(std::string_view file, std::uint64_t offset) {
    if (offset > file.size() || file.size() - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, file.data() + offset, sizeof(T));
    return value;
}

std::optional<Elf64_Shdr> section(std::string_view file, Elf64_Ehdr const& header, std::uint64_t index) {
    if (header.e_shentsize != sizeof(Elf64_Shdr) || index >= header.e_shnum || header.e_shoff > file.size())
        return std::nullopt;
    return read_at<Elf64_Shdr>(file, header.e_shoff + index * sizeof(Elf64_Shdr));
}

bool is_named(std::string_view file, Elf64_Shdr const& names, std::uint32_t at, std::string_view name) {
    if (names.sh_offset > file.size() || at > file.size() - names.sh_offset) return false;
    auto const rest = file.substr(names.sh_offset + at);
    return rest.size() > name.size() && rest.starts_with(name) && rest[name.size()] == '\0';
}

/// \return The file offset of a virtual address.
std::optional<std::uint64_t> offset_of(std::string_view file, Elf64_Ehdr const& header,
                                       std::uint64_t address) {
    for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
        auto const part = section(file, header, i);
        if (!part || part->sh_type == SHT_NOBITS || (part->sh_flags & SHF_ALLOC) == 0) continue;
        if (address >= part->sh_addr && address - part->sh_addr < part->sh_size)
            return part->sh_offset + (address - part->sh_addr);
    }
    return std::nullopt;
}

std::optional<std::uint32_t> version_in(std::string_view file, Elf64_Ehdr const& header,
                                        Elf64_Shdr const& symbols) {
    auto const names = section(file, header, symbols.sh_link);
    if (!names) return std::nullopt;
    // The number of symbols in a damaged file may be wrong, so it is limited by the file size.
    auto const count = std::min<std::uint64_t>(symbols.sh_size, file.size()) / sizeof(Elf64_Sym);
    for (std::uint64_t i = 0; i < count; ++i) {
        auto const symbol = read_at<Elf64_Sym>(file, symbols.sh_offset + i * sizeof(Elf64_Sym));
        if (!symbol) return std::nullopt;
        if (symbol->st_shndx == SHN_UNDEF || !is_named(file, *names, symbol->st_name, "plugin_version"))
            continue;
        auto const offset = offset_of(file, header, symbol->st_value);
        return offset ? read_at<std::uint32_t>(file, *offset) : std::nullopt;
    }
    return std::nullopt;
}

}  // namespace

bool PlugstackLine::is_det_plugin() const { return path.substr(path.rfind('/') + 1) == "spank_det.so"; }

std::optional<std::string> PlugstackLine::find_argument(std::string_view name) const {
    for (auto const& argument : arguments) {
        if (argument.starts_with(name) && argument.size() > name.size() && argument[name.size()] == '=')
            return argument.substr(name.size() + 1);
    }
    return std::nullopt;
}

std::vector<PlugstackLine> parse_plugstack(std::string_view text) {
    std::vector<PlugstackLine> lines;
    for (auto const line : split_lines(text)) {
        auto words = words_of(line.substr(0, line.find('#')));
        if (words.size() < 2) continue;
        auto& parsed = lines.emplace_back(PlugstackLine{words[0], words[1], {}});
        parsed.arguments.assign(words.begin() + 2, words.end());
    }
    return lines;
}

std::optional<std::uint32_t> find_plugin_version(std::string_view file) {
    auto const header = read_at<Elf64_Ehdr>(file, 0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB)
        return std::nullopt;
    for (std::uint64_t i = 0; i < header->e_shnum; ++i) {
        auto const part = section(file, *header, i);
        if (part && part->sh_type == SHT_DYNSYM) return version_in(file, *header, *part);
    }
    return std::nullopt;
}

std::string release_of(std::uint32_t plugin_version) {
    return fmt::format("{}.{:02}", plugin_version >> 16 & 0xff, plugin_version >> 8 & 0xff);
}

std::string release_of(std::string_view slurm_version) {
    auto const parts = split(slurm_version, '.');
    return parts.size() < 2 ? std::string(slurm_version) : fmt::format("{}.{}", parts[0], parts[1]);
}

}  // namespace det::site
