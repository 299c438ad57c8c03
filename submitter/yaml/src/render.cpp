#include <det/foundation/text.hpp>
#include <det/yaml/parse.hpp>
#include <det/yaml/render.hpp>

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace det::yaml {
namespace {

// Words that are strings in YAML 1.2 and booleans in YAML 1.1.
constexpr std::string_view old_booleans[] = {"y", "n", "yes", "no", "on", "off"};

bool is_old_boolean(std::string_view text) {
    constexpr std::size_t size_max = 3;
    return text.size() <= size_max && std::find(std::begin(old_booleans), std::end(old_booleans),
                                                to_lower(text)) != std::end(old_booleans);
}

bool begins_plain(std::string_view text) {
    auto const c = text.front();
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '/' || text.starts_with("./");
}

/// True if every YAML parser reads the text without quotes as a string. May also be false for such a text,
/// because needless quotes do no harm.
bool is_plain(std::string_view text) {
    constexpr std::string_view harmless =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_/.-+=@%$:, ";
    if (text.empty() || !begins_plain(text) || text.back() == ' ' || text.back() == ':') return false;
    if (text.find_first_not_of(harmless) != std::string_view::npos) return false;
    if (text.find(": ") != std::string_view::npos) return false;
    if (is_old_boolean(text)) return false;
    auto const meaning = resolve_plain(text);
    return meaning && std::holds_alternative<std::string>(*meaning);
}

/// The bytes of the first character; the text is UTF-8.
std::string_view first_character(std::string_view text) {
    std::size_t size = 1;
    while (size < text.size() && (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80) ++size;
    return text.substr(0, size);
}

char32_t code_point(std::string_view character) {
    auto const lead = static_cast<unsigned char>(character[0]);
    if (character.size() == 1) return lead;
    auto value = static_cast<char32_t>(lead & (0x7f >> character.size()));
    for (auto const c : character.substr(1)) value = value << 6 | (static_cast<unsigned char>(c) & 0x3f);
    return value;
}

/// True for characters that are written as escapes: those that escape_control() escapes, line and paragraph
/// separators, the byte order mark and the noncharacters U+FFFE and U+FFFF.
bool needs_escape(std::string_view character) {
    constexpr std::u32string_view not_as_they_are = U"\u2028\u2029\ufeff\ufffe\uffff";
    return not_as_they_are.find(code_point(character)) != std::u32string_view::npos ||
           escape_control(character) != character;
}

std::string escape_of(std::string_view character) {
    auto const value = static_cast<std::uint32_t>(code_point(character));
    switch (value) {
        case '\n':
            return "\\n";
        case '\t':
            return "\\t";
        case '\r':
            return "\\r";
        default:
            return value < 0x100 ? fmt::format("\\x{:02x}", value) : fmt::format("\\u{:04x}", value);
    }
}

std::string in_double_quotes(std::string_view text) {
    std::string out = "\"";
    while (!text.empty()) {
        auto const character = first_character(text);
        text.remove_prefix(character.size());
        if (character == "\"" || character == "\\") {
            out += '\\';
            out += character;
        } else if (needs_escape(character)) {
            out += escape_of(character);
        } else {
            out += character;
        }
    }
    return out + '"';
}

std::string in_single_quotes(std::string_view text) {
    std::string out = "'";
    for (auto const c : text) out += c == '\'' ? "''" : std::string(1, c);
    return out + "'";
}

bool has_escapes(std::string_view text) {
    for (; !text.empty(); text.remove_prefix(first_character(text).size())) {
        if (needs_escape(first_character(text))) return true;
    }
    return false;
}

std::string one_line(std::string_view text) {
    if (is_plain(text)) return std::string(text);
    return has_escapes(text) ? in_double_quotes(text) : in_single_quotes(text);
}

/// True for a text with a newline that a `|` block represents byte for byte.
bool is_block(std::string_view text) {
    if (text.find('\n') == std::string_view::npos || text.ends_with("\n\n")) return false;
    if (text.front() == ' ' || text.front() == '\n') return false;
    auto const lines = split_lines(text);
    return std::none_of(lines.begin(), lines.end(), [](std::string_view line) {
        return has_escapes(line) || (!line.empty() && trim(line).empty());
    });
}

std::string block(std::string_view text, std::string const& indent) {
    std::string out = text.ends_with('\n') ? "|\n" : "|-\n";
    for (auto const line : split_lines(text)) {
        if (!line.empty()) out += indent;
        out += line;
        out += '\n';
    }
    return out;
}

std::string real_number(double value) {
    if (std::isnan(value)) return ".nan";
    if (std::isinf(value)) return value > 0 ? ".inf" : "-.inf";
    auto text = fmt::format("{}", value);
    // PyYAML reads 1e-05 as a string: it requires a point in every number with an exponent.
    if (text.find('.') == std::string::npos) text.insert(std::min(text.find('e'), text.size()), ".0");
    return text;
}

std::string scalar(Node const& node, std::string const& indent) {
    if (auto const* value = node.boolean()) return *value ? "true\n" : "false\n";
    if (auto const* value = node.integer()) return fmt::format("{}\n", *value);
    if (auto const value = node.number()) return real_number(*value) + '\n';
    if (auto const* value = node.text())
        return is_block(*value) ? block(*value, indent) : one_line(*value) + '\n';
    return "null\n";
}

class Renderer {
public:
    using Remark = std::function<std::string(Node const&)>;
    explicit Renderer(Remark const* remark) : remark_(remark) {}

    std::string render(Node const& node) && {
        if (is_leaf(node)) {
            write_leaf(node, "  ");
        } else {
            write(node, "");
        }
        return remark_ == nullptr ? std::move(out_) : add_comments(out_, remarks_);
    }

private:
    static bool is_leaf(Node const& node) {
        return node.is_scalar() || (node.items().empty() && node.entries().empty());
    }

    void write(Node const& node, std::string const& indent) {
        for (auto const& item : node.items()) write_item(item, indent);
        for (auto const& entry : node.entries()) {
            out_ += indent + one_line(entry.key) + ':';
            write_value(entry.value, indent + "  ");
        }
    }

    /// Writes the text after "key:" or "-".
    void write_value(Node const& value, std::string const& indent) {
        if (is_leaf(value)) {
            out_ += ' ';
            write_leaf(value, indent);
        } else {
            out_ += '\n';
            write(value, indent);
        }
    }

    /// A map or list within a list begins on the line of its dash.
    void write_item(Node const& item, std::string const& indent) {
        if (is_leaf(item)) {
            out_ += indent + '-';
            write_value(item, indent + "  ");
            return;
        }
        auto const start = out_.size();
        write(item, indent + "  ");
        out_[start + indent.size()] = '-';
    }

    void write_leaf(Node const& leaf, std::string const& indent) {
        auto const text = leaf.is_list() ? "[]\n" : leaf.is_map() ? "{}\n" : scalar(leaf, indent);
        if (remark_ != nullptr) remarks_.push_back({out_.size() + text.find('\n'), (*remark_)(leaf)});
        out_ += text;
    }

    Remark const* remark_;
    std::vector<Comment> remarks_;
    std::string out_;
};

/// The number of characters, not of bytes.
std::size_t columns_of(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(
        text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace

std::string render_yaml(Node const& node) { return Renderer(nullptr).render(node); }

std::string render_yaml(Node const& node, std::function<std::string(Node const&)> const& leaf_remark) {
    return Renderer(&leaf_remark).render(node);
}

std::string add_comments(std::string_view text, std::span<Comment const> comments) {
    constexpr std::size_t column_max = 60;  // the comment on a longer line follows its text directly
    std::vector<std::size_t> columns;
    std::size_t column = 0;
    std::size_t written = 0;
    for (auto const& comment : comments) {
        auto const line_start = text.substr(0, comment.line_end).rfind('\n') + 1;
        columns.push_back(columns_of(text.substr(line_start, comment.line_end - line_start)));
        if (!comment.text.empty() && columns.back() <= column_max) column = std::max(column, columns.back());
    }
    std::string out;
    for (std::size_t i = 0; i < comments.size(); ++i) {
        auto const& [line_end, said] = comments[i];
        if (said.empty()) continue;
        out += text.substr(written, line_end - written);
        out.append(std::max(column, columns[i]) - columns[i] + 2, ' ').append("# ") += escape_control(said);
        written = line_end;
    }
    out += text.substr(written);
    return out;
}

nlohmann::json to_json(Node const& node) {
    if (auto const* value = node.boolean()) return *value;
    if (auto const* value = node.integer()) return *value;
    if (auto const value = node.number()) return *value;
    if (auto const* value = node.text()) return *value;
    if (node.is_list()) {
        auto list = nlohmann::json::array();
        for (auto const& item : node.items()) list.push_back(to_json(item));
        return list;
    }
    if (node.is_map()) {
        auto object = nlohmann::json::object();
        for (auto const& entry : node.entries()) object[entry.key] = to_json(entry.value);
        return object;
    }
    return nullptr;
}

}  // namespace det::yaml
