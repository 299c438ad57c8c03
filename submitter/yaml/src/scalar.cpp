#include "scalar.hpp"

#include <det/yaml/parse.hpp>

#include <algorithm>
#include <charconv>
#include <limits>
#include <span>

namespace det::yaml {
namespace {

bool is_one_of(std::string_view text, std::span<std::string_view const> words) {
    return std::find(words.begin(), words.end(), text) != words.end();
}

constexpr std::string_view null_words[] = {"", "~", "null", "Null", "NULL"};
constexpr std::string_view true_words[] = {"true", "True", "TRUE"};
constexpr std::string_view false_words[] = {"false", "False", "FALSE"};
constexpr std::string_view infinity_words[] = {".inf", ".Inf", ".INF"};
constexpr std::string_view nan_words[] = {".nan", ".NaN", ".NAN"};

std::string_view without_sign(std::string_view text) {
    if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
    return text;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::size_t skip_digits(std::string_view text, std::size_t from) {
    while (from < text.size() && is_digit(text[from])) ++from;
    return from;
}

bool is_decimal_integer(std::string_view text) {
    auto const digits = without_sign(text);
    return !digits.empty() && skip_digits(digits, 0) == digits.size();
}

/// [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?
bool is_decimal_real(std::string_view text) {
    text = without_sign(text);
    auto at = skip_digits(text, 0);
    auto digits = at;
    if (at < text.size() && text[at] == '.') {
        auto const fraction = at + 1;
        at = skip_digits(text, fraction);
        digits += at - fraction;
    }
    if (digits == 0) return false;
    if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
        ++at;
        if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
        auto const end = skip_digits(text, at);
        if (end == at) return false;
        at = end;
    }
    return at == text.size();
}

TaggedScalar read_integer(std::string_view digits, int base) {
    std::int64_t value = 0;
    auto const end = digits.data() + digits.size();
    auto const [stop, error] = std::from_chars(digits.data(), end, value, base);
    if (error == std::errc::result_out_of_range) return {ScalarStatus::out_of_range};
    if (digits.empty() || error != std::errc{} || stop != end) return {ScalarStatus::wrong_type};
    return {ScalarStatus::done, value};
}

TaggedScalar resolve_integer(std::string_view text) {
    if (text.starts_with("0x")) return read_integer(text.substr(2), 16);
    if (text.starts_with("0o")) return read_integer(text.substr(2), 8);
    if (!is_decimal_integer(text)) return {ScalarStatus::wrong_type};
    return read_integer(text.starts_with('+') ? text.substr(1) : text, 10);
}

TaggedScalar resolve_real(std::string_view text) {
    constexpr auto infinity = std::numeric_limits<double>::infinity();
    if (is_one_of(text, nan_words)) return {ScalarStatus::done, std::numeric_limits<double>::quiet_NaN()};
    if (is_one_of(without_sign(text), infinity_words)) {
        return {ScalarStatus::done, text.starts_with('-') ? -infinity : infinity};
    }
    if (!is_decimal_real(text)) return {ScalarStatus::wrong_type};
    if (text.starts_with('+')) text.remove_prefix(1);
    double value = 0;
    auto const [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc::result_out_of_range) return {ScalarStatus::out_of_range};
    return {ScalarStatus::done, value};
}

TaggedScalar resolve_boolean(std::string_view text) {
    if (is_one_of(text, true_words)) return {ScalarStatus::done, true};
    if (is_one_of(text, false_words)) return {ScalarStatus::done, false};
    return {ScalarStatus::wrong_type};
}

TaggedScalar resolve_null(std::string_view text) {
    return {is_one_of(text, null_words) ? ScalarStatus::done : ScalarStatus::wrong_type};
}

TaggedScalar resolve_text(std::string_view text) { return {ScalarStatus::done, std::string(text)}; }

struct CoreType {
    std::string_view name;
    TaggedScalar (*resolve)(std::string_view text);
};

/// The types of YAML's core schema, in the order in which an unquoted scalar is tried as one of them.
constexpr CoreType core_types[] = {{"null", resolve_null},
                                   {"bool", resolve_boolean},
                                   {"int", resolve_integer},
                                   {"float", resolve_real},
                                   {"str", resolve_text}};

/// True if no null, boolean or number begins with the first character of the text.
bool can_only_be_text(std::string_view text) {
    constexpr std::string_view first_of_others = "~nNtTfF+-.0123456789";
    return !text.empty() && first_of_others.find(text.front()) == std::string_view::npos;
}

}  // namespace

std::optional<Node::Scalar> resolve_plain(std::string_view text) {
    if (can_only_be_text(text)) return std::string(text);
    for (auto const& type : core_types) {
        auto scalar = type.resolve(text);
        if (scalar.status == ScalarStatus::done) return std::move(scalar.value);
        if (scalar.status == ScalarStatus::out_of_range) break;
    }
    return std::nullopt;
}

TaggedScalar resolve_tagged(std::string_view type_name, std::string_view text) {
    auto const type = std::find_if(std::begin(core_types), std::end(core_types),
                                   [&](auto const& candidate) { return candidate.name == type_name; });
    return type != std::end(core_types) ? type->resolve(text) : TaggedScalar{ScalarStatus::unknown_type};
}

}  // namespace det::yaml
