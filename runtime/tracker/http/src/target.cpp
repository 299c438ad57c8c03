#include <det/foundation/text.hpp>
#include <det/tracker/http/message.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace det::tracker::http {
namespace {

Error bad_target(std::string message) { return Error{codes::bad_request, std::move(message)}; }

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

/// Where in a target a text is.
enum class Part { path, parameter_name, parameter_value };

/// The value of a parameter is any text, such as the name that a program gave a metric.
Result<std::string> decode(std::string_view text, Part part) {
    std::string decoded;
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] != '%') {
            if (is_control(text[at])) return bad_target("the path or the query has a control byte");
            decoded += part != Part::path && text[at] == '+' ? ' ' : text[at];
            continue;
        }
        int const high = at + 1 < text.size() ? hex_digit(text[at + 1]) : -1;
        int const low = at + 2 < text.size() ? hex_digit(text[at + 2]) : -1;
        if (high < 0 || low < 0)
            return bad_target("an escape sequence is not '%' and two hexadecimal digits");
        decoded += static_cast<char>(high * 16 + low);
        at += 2;
    }
    if (part != Part::parameter_value && std::ranges::any_of(decoded, is_control))
        return bad_target("the path or the query has a control byte");
    if (!is_valid_utf8(decoded)) return bad_target("the path or the query is not valid UTF-8");
    return decoded;
}

Result<std::vector<std::string>> parse_path(std::string_view path) {
    if (!path.starts_with('/')) return bad_target("the path does not begin with '/'");
    std::vector<std::string> segments;
    if (path == "/") return segments;
    for (auto const part : split(path.substr(1), '/')) {
        DET_TRY_ASSIGN(auto segment, decode(part, Part::path));
        if (segment.empty() || segment == "." || segment == "..")
            return bad_target("the path has an empty segment, '.' or '..'");
        if (segment.find('/') != std::string::npos) return bad_target("the path has an encoded '/'");
        segments.push_back(std::move(segment));
    }
    return segments;
}

Result<Query> parse_query(std::string_view text) {
    Query query;
    for (auto const part : split(text, '&')) {
        if (part.empty()) continue;
        auto const equals = std::min(part.find('='), part.size());
        DET_TRY_ASSIGN(auto name, decode(part.substr(0, equals), Part::parameter_name));
        DET_TRY_ASSIGN(auto value,
                       decode(part.substr(std::min(equals + 1, part.size())), Part::parameter_value));
        if (name.empty()) return bad_target("a parameter of the query has no name");
        if (query.size() == query_parameters_max)
            return bad_target(fmt::format("the query has more than {} parameters", query_parameters_max));
        if (query.contains(name)) return bad_target(fmt::format("the parameter '{}' is given twice", name));
        query.emplace(std::move(name), std::move(value));
    }
    return query;
}

}  // namespace

Result<Target> parse_target(std::string_view target) {
    if (target.size() > target_size_limit_bytes)
        return bad_target(fmt::format("the path and the query exceed {} bytes", target_size_limit_bytes));
    if (target.find('#') != std::string_view::npos) return bad_target("the target has a fragment");
    auto const mark = std::min(target.find('?'), target.size());
    Target parsed;
    DET_TRY_ASSIGN(parsed.segments, parse_path(target.substr(0, mark)));
    DET_TRY_ASSIGN(parsed.query, parse_query(target.substr(std::min(mark + 1, target.size()))));
    return parsed;
}

std::string percent_encode(std::string_view text) {
    std::string encoded;
    for (char const c : text) {
        bool const is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                              c == '-' || c == '.' || c == '_' || c == '~';
        encoded += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
    return encoded;
}

}  // namespace det::tracker::http
