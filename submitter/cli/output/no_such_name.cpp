#include "output/no_such_name.hpp"

#include <det/foundation/text.hpp>

#include <fmt/format.h>
#include <vector>

namespace det::cli {
namespace {

constexpr std::size_t names_shown_max = 20;

std::string list_names(std::set<std::string> const& names) {
    std::string text;
    std::size_t count = 0;
    for (auto const& name : names) {
        if (count == names_shown_max) return text + fmt::format(" and {} more", names.size() - count);
        text += fmt::format("{}{}", count == 0 ? "" : ", ", escape_control(name));
        ++count;
    }
    return text;
}

}  // namespace

Error no_such_name(ErrorCode code, std::string_view kind, std::string_view typed, std::string_view place,
                   std::set<std::string> const& names) {
    auto message = fmt::format("there is no {} '{}' in {}", kind, typed, place);
    if (names.empty()) return {code, std::move(message), "none has been reported so far"};
    std::vector<std::string_view> const candidates(names.begin(), names.end());
    auto const near = nearest_word(typed, candidates);
    auto const all = (names.size() == 1 ? "there is only " : "there are ") + list_names(names);
    return {code, std::move(message), near ? fmt::format("use '{}'; {}", escape_control(*near), all) : all};
}

Error no_such_rank(TrialId trial, std::int64_t rank, TrialShape const& shape) {
    auto const last = shape.ranks() - 1;
    return {codes::no_such_rank, fmt::format("trial {} has no rank {}", to_string(trial), rank),
            last == 0 ? "its only rank is 0" : fmt::format("its ranks are 0 to {}", last)};
}

}  // namespace det::cli
