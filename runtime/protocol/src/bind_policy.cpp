#include <det/foundation/text.hpp>
#include <det/protocol/bind_policy.hpp>

#include <algorithm>
#include <iterator>
#include <numeric>

namespace det {
namespace {

using Kind = BindPolicy::Kind;

struct NamedPolicy {
    std::string_view name;
    Kind kind;
};

constexpr NamedPolicy named_policies[] = {
    {"none", Kind::none},
    {"cores", Kind::cores},
    {"numa", Kind::numa},
    {"auto", Kind::automatic},
};

bool has_each_number_once(std::vector<int> numbers) {
    std::ranges::sort(numbers);
    std::vector<int> wanted(numbers.size());
    std::iota(wanted.begin(), wanted.end(), 0);
    return numbers == wanted;
}

}  // namespace

std::optional<BindPolicy> parse_bind_policy(std::string_view text) {
    auto const named = std::ranges::find(named_policies, text, &NamedPolicy::name);
    if (named != std::end(named_policies)) return BindPolicy{named->kind};
    if (text.empty()) return std::nullopt;
    BindPolicy policy{Kind::map};
    for (auto const part : split(text, ',')) {
        auto const number = parse_integer<int>(trim(part));
        if (!number) return std::nullopt;
        policy.map.push_back(*number);
    }
    return has_each_number_once(policy.map) ? std::optional(std::move(policy)) : std::nullopt;
}

}  // namespace det
