#include <det/foundation/text.hpp>
#include <det/protocol/host_list.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace det {
namespace {

/// Splits at commas outside of brackets. Returns nullopt if the brackets do not match.
std::optional<std::vector<std::string_view>> split_outside_brackets(std::string_view text) {
    std::vector<std::string_view> pieces;
    std::size_t start = 0;
    bool inside = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == (inside ? '[' : ']')) return std::nullopt;
        if (text[i] == '[' || text[i] == ']') inside = !inside;
        if (text[i] == ',' && !inside) {
            pieces.push_back(text.substr(start, i - start));
            start = i + 1;
        }
    }
    if (inside) return std::nullopt;
    pieces.push_back(text.substr(start));
    return pieces;
}

/// A range like "07-10" or "12", with at least `width` digits per number.
struct Range {
    std::uint64_t first, last;
    std::size_t width;
};

std::optional<Range> parse_range(std::string_view text) {
    auto const dash = text.find('-');
    auto const first_text = text.substr(0, dash);
    auto const last_text = dash == std::string_view::npos ? first_text : text.substr(dash + 1);
    auto const first = parse_integer<std::uint64_t>(first_text);
    auto const last = parse_integer<std::uint64_t>(last_text);
    if (!first || !last || *last < *first) return std::nullopt;
    return Range{*first, *last, first_text.size()};
}

Error malformed(std::string_view text) {
    return Error{codes::slurm_output, fmt::format("'{}' is not a list of hosts", text)};
}

/// Appends each number of a bracket like "07-10,12" to each of `names`.
std::optional<std::vector<std::string>> extend(std::vector<std::string> const& names,
                                               std::string_view bracket) {
    std::vector<std::string> extended;
    for (auto const& name : names) {
        for (auto const piece : split(bracket, ',')) {
            auto const range = parse_range(piece);
            if (!range || range->last - range->first >= hosts_max) return std::nullopt;
            for (auto number = range->first; number <= range->last; ++number) {
                if (extended.size() >= hosts_max) return std::nullopt;
                extended.push_back(fmt::format("{}{:0{}}", name, number, range->width));
            }
        }
    }
    return extended;
}

std::optional<std::vector<std::string>> expand_piece(std::string_view piece) {
    std::vector<std::string> names{""};
    while (!piece.empty()) {
        auto const open = piece.find('[');
        for (auto& name : names) name += piece.substr(0, open);
        if (open == std::string_view::npos) break;
        auto const close = piece.find(']', open);
        auto extended = extend(names, piece.substr(open + 1, close - open - 1));
        if (!extended) return std::nullopt;
        names = *std::move(extended);
        piece.remove_prefix(close + 1);
    }
    return names;
}

/// A host name, split at its last number into prefix, number and suffix.
struct Numbered {
    std::string_view prefix, digits, suffix;
    std::optional<std::uint64_t> number;
};

Numbered take_apart(std::string_view host) {
    auto const last = host.find_last_of("0123456789");
    if (last == std::string_view::npos) return {host, {}, {}, std::nullopt};
    auto const before = host.find_last_not_of("0123456789", last);
    auto const first = before == std::string_view::npos ? 0 : before + 1;
    auto const digits = host.substr(first, last - first + 1);
    return {host.substr(0, first), digits, host.substr(last + 1), parse_integer<std::uint64_t>(digits)};
}

/// Whether `next` can share a bracket with `previous`.
bool share_bracket(Numbered const& previous, Numbered const& next) {
    auto const padded = [](Numbered const& n) { return n.digits.size() > 1 && n.digits[0] == '0'; };
    bool const same_width =
        previous.digits.size() == next.digits.size() || (!padded(previous) && !padded(next));
    return previous.number && next.number && same_width && previous.prefix == next.prefix &&
           previous.suffix.empty() && next.suffix.empty();  // Slurm reads a suffix only since 23.11
}

std::string render_bracket(std::vector<Numbered> const& members) {
    auto const& head = members.front();
    if (members.size() == 1) return fmt::format("{}{}{}", head.prefix, head.digits, head.suffix);
    std::string ranges;
    for (std::size_t i = 0; i < members.size();) {
        auto end = i;
        while (end + 1 < members.size() && *members[end + 1].number == *members[end].number + 1) ++end;
        if (!ranges.empty()) ranges += ',';
        ranges += members[i].digits;
        if (end > i) ranges += fmt::format("-{}", members[end].digits);
        i = end + 1;
    }
    return fmt::format("{}[{}]{}", head.prefix, ranges, head.suffix);
}

}  // namespace

Result<std::vector<std::string>> expand_host_list(std::string_view text) {
    if (text.empty()) return std::vector<std::string>{};
    auto const pieces = split_outside_brackets(text);
    if (!pieces) return malformed(text);
    std::vector<std::string> hosts;
    for (auto const piece : *pieces) {
        auto names = expand_piece(piece);
        if (piece.empty() || !names || hosts.size() + names->size() > hosts_max) return malformed(text);
        for (auto& name : *names) hosts.push_back(std::move(name));
    }
    return hosts;
}

Result<std::string> first_host(std::string_view text) {
    std::string first;
    for (std::size_t i = 0; i < text.size() && text[i] != ','; ++i) {
        if (text[i] != '[') {
            first += text[i];
            continue;
        }
        auto const end = text.find_first_of("-,]", i + 1);
        auto const close = text.find(']', i + 1);
        if (close == std::string_view::npos) return malformed(text);
        first += text.substr(i + 1, end - i - 1);
        i = close;
    }
    if (first.empty()) return malformed(text);
    return first;
}

std::string add_host_suffix(std::string_view host, std::string_view suffix) {
    bool const is_numeric = host.find_first_not_of("0123456789.") == std::string_view::npos ||
                            host.find(':') != std::string_view::npos;
    if (is_numeric || host == "localhost") return std::string(host);
    auto const end = std::min(host.find('.'), host.size());
    return std::string(host.substr(0, end)).append(suffix).append(host.substr(end));
}

std::string compress_host_list(std::vector<std::string> const& hosts) {
    std::string out;
    std::vector<Numbered> bracket;
    auto const flush = [&] {
        if (bracket.empty()) return;
        if (!out.empty()) out += ',';
        out += render_bracket(bracket);
        bracket.clear();
    };
    for (auto const& host : hosts) {
        auto const next = take_apart(host);
        if (!bracket.empty() && !share_bracket(bracket.back(), next)) flush();
        bracket.push_back(next);
    }
    flush();
    return out;
}

Result<std::vector<int>> expand_counts(std::string_view text) {
    std::vector<int> counts;
    auto const bad = [&] {
        return Error{codes::slurm_output, fmt::format("'{}' is not a list of counts", text)};
    };
    for (auto const piece : split(text, ',')) {
        auto const open = piece.find("(x");
        auto const count = parse_integer<int>(piece.substr(0, open));
        std::optional<std::size_t> times = 1;
        if (open != std::string_view::npos) {
            if (!piece.ends_with(')')) return bad();
            times = parse_integer<std::size_t>(piece.substr(open + 2, piece.size() - open - 3));
        }
        if (!count || *count < 0 || !times || *times > hosts_max - counts.size()) return bad();
        counts.insert(counts.end(), *times, *count);
    }
    return counts;
}

std::string compress_counts(std::vector<int> const& counts) {
    std::string out;
    for (std::size_t i = 0; i < counts.size();) {
        auto end = i;
        while (end < counts.size() && counts[end] == counts[i]) ++end;
        if (!out.empty()) out += ',';
        out += end - i == 1 ? std::to_string(counts[i]) : fmt::format("{}(x{})", counts[i], end - i);
        i = end;
    }
    return out;
}

}  // namespace det
