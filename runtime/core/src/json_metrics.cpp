#include "json_metrics.hpp"

#include <det/foundation/bytes.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/json_number.hpp>

#include <bit>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <optional>

namespace det::core {
namespace {

constexpr std::int64_t exact_limit = std::int64_t{1} << 53;  // a double holds all integers up to 2^53

/// Whether the integer is among those that a double certainly holds exactly; false for nullopt.
bool is_exact(std::optional<std::int64_t> integer) {
    return integer && *integer >= -exact_limit && *integer <= exact_limit;
}

bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

/// Reads the tokens of a flat JSON object.
class FlatObjectParser {
public:
    explicit FlatObjectParser(std::string_view text) : rest_(text) {}

    bool parse(std::pmr::vector<Metric>& numbers) {
        if (!take('{')) return false;
        if (!take('}')) {
            do {
                auto const name = take_string();
                if (!name || !take(':')) return false;
                auto value = take_value();
                if (!value) return false;
                value->name = *name;
                numbers.push_back(*value);
            } while (take(','));
            if (!take('}')) return false;
        }
        skip_space();
        return rest_.empty();
    }

private:
    void skip_space() {
        while (!rest_.empty() && std::string_view(" \t\r\n").find(rest_.front()) != std::string_view::npos)
            rest_.remove_prefix(1);
    }

    bool take(char byte) {
        skip_space();
        if (rest_.empty() || rest_.front() != byte) return false;
        rest_.remove_prefix(1);
        return true;
    }

    bool take_word(std::string_view word) {
        if (!rest_.starts_with(word)) return false;
        rest_.remove_prefix(word.size());
        return true;
    }

    /// Takes a string of ASCII characters without escapes. Returns nullopt for others, which the JSON library
    /// parses.
    std::optional<std::string_view> take_string() {
        if (!take('"')) return std::nullopt;
        for (std::size_t i = 0; i < rest_.size(); ++i) {
            if (rest_[i] == '\\' || rest_[i] < 0x20 || rest_[i] > 0x7e) return std::nullopt;
            if (rest_[i] != '"') continue;
            auto const string = rest_.substr(0, i);
            rest_.remove_prefix(i + 1);
            return string;
        }
        return std::nullopt;
    }

    std::optional<Metric> take_value() {
        skip_space();
        if (rest_.empty()) return std::nullopt;
        if (take_word("true")) return Metric{{}, 1, MetricType::boolean};
        if (take_word("false")) return Metric{{}, 0, MetricType::boolean};
        if (rest_.front() == '"') {
            auto const named = find_non_finite(take_string().value_or(""));
            return named ? std::optional(Metric{{}, *named}) : std::nullopt;
        }
        for (std::string_view const name : {"NaN", "Infinity", "-Infinity"}) {
            if (take_word(name)) return Metric{{}, *find_non_finite(name)};
        }
        return take_number();
    }

    std::optional<Metric> take_number() {
        auto const size = std::min(rest_.find_first_not_of("+-.0123456789eE"), rest_.size());
        auto const token = rest_.substr(0, size);
        auto const digits = token.starts_with('-') ? token.substr(1) : token;
        // from_chars() accepts ".5", "1." and "01", which are not JSON.
        if (digits.empty() || !is_digit(digits.front()) || !is_digit(digits.back())) return std::nullopt;
        if (digits.front() == '0' && digits.size() > 1 && is_digit(digits[1])) return std::nullopt;
        auto const point = digits.find('.');
        if (point != digits.npos && !is_digit(digits[point + 1])) return std::nullopt;
        double value = 0;
        auto const end = token.data() + token.size();
        if (auto const [stop, error] = std::from_chars(token.data(), end, value);
            stop != end || error != std::errc{})
            return std::nullopt;
        bool const is_integer = digits.find_first_of(".eE") == digits.npos;
        if (is_integer && !is_exact(parse_integer<std::int64_t>(token))) return std::nullopt;
        rest_.remove_prefix(size);
        return Metric{{}, value, is_integer ? MetricType::integer : MetricType::real};
    }

    std::string_view rest_;
};

std::optional<Metric> find_number(Json const& value) {
    if (value.is_boolean()) return Metric{{}, value.get<bool>() ? 1.0 : 0.0, MetricType::boolean};
    if (value.is_number_float()) return Metric{{}, value.get<double>()};
    if (value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(exact_limit))
        return std::nullopt;
    if (value.is_number_integer()) {
        auto const integer = value.get<std::int64_t>();
        if (!is_exact(integer)) return std::nullopt;
        return Metric{{}, static_cast<double>(integer), MetricType::integer};
    }
    if (!value.is_string()) return std::nullopt;
    auto const named = find_non_finite(value.get_ref<std::string const&>());
    return named ? std::optional(Metric{{}, *named}) : std::nullopt;
}

}  // namespace

bool find_numbers(Json const& metrics, std::pmr::vector<Metric>& numbers) {
    for (auto const& [name, value] : metrics.items()) {
        auto number = find_number(value);
        if (!number) return false;
        numbers.push_back(*number);
    }
    std::size_t i = 0;
    for (auto item = metrics.begin(); item != metrics.end(); ++item) numbers[i++].name = item.key();
    return true;
}

bool parse_numbers(std::string_view metrics, std::pmr::vector<Metric>& numbers) {
    return FlatObjectParser(metrics).parse(numbers);
}

void name_non_finite(Json& value) {
    if (value.is_number_float() && !std::isfinite(value.get<double>()))
        value = number_to_json(value.get<double>());
    if (!value.is_structured()) return;
    for (auto& element : value) name_non_finite(element);
}

std::string encode_for_mean(std::span<Metric const> metrics) {
    std::string encoded;
    for (auto const& metric : metrics) append_value(encoded, std::bit_cast<std::uint64_t>(metric.value));
    for (auto const& metric : metrics) {
        append_value(encoded, static_cast<std::uint32_t>(metric.name.size()));
        encoded += metric.name;
    }
    append_value(encoded, static_cast<std::uint64_t>(metrics.size()));
    return encoded;
}

Result<std::vector<double>> mean_of_reports(std::vector<std::string> const& reports) {
    constexpr std::size_t value_size_bytes = sizeof(double);
    auto const& first = reports.front();
    auto const count = read_value<std::uint64_t>(first, first.size() - sizeof(std::uint64_t));
    auto const names = std::string_view(first).substr(count * value_size_bytes);
    std::vector<double> means(count, 0);
    for (std::size_t rank = 0; rank < reports.size(); ++rank) {
        std::string_view const report = reports[rank];
        bool const is_same = report.size() == first.size() && report.ends_with(names);
        if (!is_same)
            return Error{codes::misuse,
                         fmt::format("ranks 0 and {} report metrics of different names", rank)};
        for (std::size_t i = 0; i < count; ++i) {
            auto const bits = read_value<std::uint64_t>(report, i * value_size_bytes);
            means[i] += std::bit_cast<double>(bits) / static_cast<double>(reports.size());
        }
    }
    return means;
}

}  // namespace det::core
