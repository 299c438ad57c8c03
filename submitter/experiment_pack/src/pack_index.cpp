#include <det/experiment_pack/pack_index.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>
#include <map>
#include <optional>

namespace det::experiment_pack {
namespace {

using Kind = Entry::Kind;

constexpr std::size_t path_limit_bytes = 4096;
constexpr mode_t permission_bits = 07777;
// zstd's bound for a block, and room for its header.
constexpr std::uint32_t block_limit_bytes = block_bytes + (block_bytes >> 7) + 512;

struct KindName {
    Kind kind;
    std::string_view name;
};
constexpr std::array<KindName, 4> kind_names{{{Kind::directory, "directory"},
                                              {Kind::file, "file"},
                                              {Kind::symlink, "symlink"},
                                              {Kind::hardlink, "hardlink"}}};

std::optional<int> hex_digit(char digit) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    auto const found = digits.find(digit);
    return found == digits.npos ? std::nullopt : std::optional(static_cast<int>(found));
}

std::optional<std::string> unescape_path(std::string_view text) {
    std::string path;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            path += text[i];
            continue;
        }
        if (i + 2 >= text.size()) return std::nullopt;
        auto const high = hex_digit(text[i + 1]), low = hex_digit(text[i + 2]);
        if (!high || !low) return std::nullopt;
        path += static_cast<char>(*high * 16 + *low);
        i += 2;
    }
    return path;
}

std::optional<mode_t> parse_octal(std::string const& text) {
    mode_t value = 0;
    auto const* const end = text.data() + text.size();
    auto const [stop, error] = std::from_chars(text.data(), end, value, 8);
    if (text.empty() || error != std::errc{} || stop != end) return std::nullopt;
    return value;
}

Error index_error(std::string const& what) {
    return {codes::damaged, "the index of the pack is not valid: " + what};
}

/// Whether a path stays below the directory: relative, without empty components, "." and "..".
bool stays_below(std::string_view path) {
    if (path.empty() || path.size() > path_limit_bytes || path.find('\0') != path.npos) return false;
    for (auto const part : split(path, '/')) {
        if (part.empty() || part == "." || part == "..") return false;
    }
    return true;
}

Json to_json(Entry const& entry) {
    Json json{{"path", escape_path(entry.path)},
              {"kind", std::ranges::find(kind_names, entry.kind, &KindName::kind)->name},
              {"mode", fmt::format("{:o}", entry.mode)},
              {"group", entry.group},
              {"modified_ns", entry.modified_ns}};
    if (entry.kind == Kind::symlink || entry.kind == Kind::hardlink)
        json["target"] = escape_path(entry.target);
    if (entry.kind != Kind::file) return json;
    json["size_bytes"] = entry.size_bytes;
    json["contents_at"] = entry.contents_at;
    json["sha256"] = entry.sha256;
    bool const is_whole = entry.data == std::vector<Extent>{{0, entry.size_bytes}};
    if (is_whole || entry.size_bytes == 0) return json;
    json["data"] = Json::array();
    for (auto const& extent : entry.data) json["data"].push_back({extent.at, extent.size_bytes});
    return json;
}

/// Text of a path in the index; an empty optional if its escapes are malformed.
Result<std::string> path_at(Json const& json, char const* key) {
    auto path = unescape_path(json.at(key).get<std::string>());
    if (path) return *std::move(path);
    return index_error(fmt::format("'{}' is no path", json.at(key).get<std::string>()));
}

Result<Entry> entry_of(Json const& json) {
    Entry entry;
    DET_TRY_ASSIGN(entry.path, path_at(json, "path"));
    auto const kind = std::ranges::find(kind_names, json.at("kind").get<std::string>(), &KindName::name);
    if (kind == kind_names.end()) return index_error("an entry of an unknown kind");
    entry.kind = kind->kind;
    auto const mode = parse_octal(json.at("mode").get<std::string>());
    if (!mode || (*mode & ~permission_bits) != 0) return index_error("an entry with an invalid mode");
    entry.mode = *mode;
    entry.group = json.at("group").get<gid_t>();
    entry.modified_ns = json.at("modified_ns").get<std::int64_t>();
    if (entry.kind == Kind::symlink || entry.kind == Kind::hardlink) {
        DET_TRY_ASSIGN(entry.target, path_at(json, "target"));
    }
    if (entry.kind != Kind::file) return entry;
    entry.size_bytes = json.at("size_bytes").get<std::uint64_t>();
    entry.contents_at = json.at("contents_at").get<std::uint64_t>();
    entry.sha256 = json.at("sha256").get<std::string>();
    if (!json.contains("data")) {
        if (entry.size_bytes > 0) entry.data.push_back({0, entry.size_bytes});
        return entry;
    }
    for (auto const& extent : json.at("data"))
        entry.data.push_back({extent.at(0).get<std::uint64_t>(), extent.at(1).get<std::uint64_t>()});
    return entry;
}

/// Checks each entry against those before it.
class IndexCheck {
public:
    Status add(Entry const& entry) {
        if (kinds_.empty()) {
            if (!entry.path.empty() || entry.kind != Kind::directory)
                return index_error("it does not begin with the experiment's directory");
        } else {
            DET_TRY(check_path(entry));
        }
        if (entry.kind == Kind::file) DET_TRY(check_data(entry));
        if (entry.kind == Kind::hardlink) {
            auto const first = kinds_.find(entry.target);
            if (first == kinds_.end() || first->second != Kind::file)
                return index_error(
                    fmt::format("'{}' is a link to no file of the pack", escape_path(entry.path)));
        }
        kinds_.emplace(entry.path, entry.kind);
        return Ok{};
    }
    bool is_empty() const { return kinds_.empty(); }
    std::uint64_t contents_bytes() const { return contents_bytes_; }

private:
    Status check_path(Entry const& entry) const {
        auto const name = escape_path(entry.path);
        if (!stays_below(entry.path)) return index_error(fmt::format("the path '{}'", name));
        if (kinds_.contains(entry.path)) return index_error(fmt::format("'{}' is there twice", name));
        auto const slash = entry.path.rfind('/');
        auto const parent =
            kinds_.find(slash == std::string::npos ? std::string() : entry.path.substr(0, slash));
        if (parent == kinds_.end() || parent->second != Kind::directory)
            return index_error(fmt::format("'{}' is in no directory of the pack", name));
        return Ok{};
    }

    Status check_data(Entry const& entry) {
        auto const name = escape_path(entry.path);
        constexpr std::uint64_t file_limit_bytes = std::uint64_t{1} << 62;
        std::uint64_t end = 0;
        for (auto const& [at, size_bytes] : entry.data) {
            if (at < end || size_bytes == 0 || at > entry.size_bytes || size_bytes > entry.size_bytes - at)
                return index_error(fmt::format("the data of '{}'", name));
            end = at + size_bytes;
        }
        if (entry.size_bytes > file_limit_bytes || entry.sha256.size() != 64 ||
            entry.contents_at != contents_bytes_)
            return index_error(fmt::format("the place of '{}'", name));
        contents_bytes_ += entry.data_bytes();
        if (contents_bytes_ > file_limit_bytes) return index_error("its contents are too large");
        return Ok{};
    }

    std::map<std::string, Kind> kinds_;
    std::uint64_t contents_bytes_ = 0;
};

Result<std::vector<std::uint32_t>> blocks_of(Json const& json) {
    auto blocks = json.at("blocks").get<std::vector<std::uint32_t>>();
    if (std::ranges::any_of(blocks, [](auto size) { return size == 0 || size > block_limit_bytes; }))
        return index_error("a block of an invalid size");
    return blocks;
}

Json parse_line(std::string_view line) {
    auto json = try_parse_json(line);
    return json.is_object() ? json : Json::object();  // whose keys are then missing
}

}  // namespace

std::uint64_t Entry::data_bytes() const {
    std::uint64_t sum = 0;
    for (auto const& extent : data) sum += extent.size_bytes;
    return sum;
}

std::uint64_t Index::contents_bytes() const {
    std::uint64_t sum = 0;
    for (auto const& entry : entries) sum += entry.data_bytes();
    return sum;
}

std::string escape_path(std::string_view path) {
    std::string text;
    for (char const each : path) {
        auto const byte = static_cast<unsigned char>(each);
        if (byte < 0x20 || byte > 0x7e || each == '%') {
            text += fmt::format("%{:02X}", byte);
        } else {
            text += each;
        }
    }
    return text;
}

std::string render_index(Index const& index) {
    auto text = to_line(Json{{"blocks", index.blocks}}) + '\n';
    for (auto const& entry : index.entries) text += to_line(to_json(entry)) + '\n';
    return text;
}

Result<Index> parse_index(std::string_view text) {
    Index index;
    IndexCheck check;
    bool is_first = true;
    while (!text.empty()) {
        auto const end = std::min(text.find('\n'), text.size());
        auto const line = parse_line(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
        if (std::exchange(is_first, false)) {
            DET_TRY_ASSIGN(auto blocks,
                           decode_json("the index of the pack", [&] { return blocks_of(line); }));
            DET_TRY_ASSIGN(index.blocks, std::move(blocks));
            continue;
        }
        DET_TRY_ASSIGN(auto parsed, decode_json("the index of the pack", [&] { return entry_of(line); }));
        DET_TRY_ASSIGN(auto entry, std::move(parsed));
        DET_TRY(check.add(entry));
        index.entries.push_back(std::move(entry));
    }
    if (check.is_empty()) return index_error("it is empty");
    auto const blocks = (check.contents_bytes() + block_bytes - 1) / block_bytes;
    if (index.blocks.size() != blocks) return index_error("its number of blocks");
    return index;
}

}  // namespace det::experiment_pack
