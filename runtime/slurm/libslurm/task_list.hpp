// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace det::libslurm {

/// The largest index of an array task: Slurm allows a MaxArraySize of at most 4000001.
inline constexpr std::uint32_t task_index_max = 4'000'000;

/// A range of array tasks: "3", "0-3" or "0-8:2".
struct TaskRange {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    std::uint32_t step = 1;
};

inline std::optional<TaskRange> parse_task_range(std::string_view text) {
    TaskRange range;
    auto const* at = text.data();
    auto const* const end = at + text.size();
    auto const number = [&](std::uint32_t& into) {
        auto const [stop, error] = std::from_chars(at, end, into);
        at = stop;
        return error == std::errc{} && into <= task_index_max;
    };
    if (!number(range.first)) return std::nullopt;
    range.last = range.first;
    if (at != end && *at == '-' && (++at, !number(range.last))) return std::nullopt;
    if (at != end && *at == ':' && (++at, !number(range.step))) return std::nullopt;
    if (at != end || range.step == 0 || range.last < range.first) return std::nullopt;
    return range;
}

/// Calls `use` with each index of a list such as "0-3,7,10-20:2%4". Returns false if the text is not a
/// task list.
template <class Use>
bool for_each_task(std::string_view list, Use const& use) {
    list = list.substr(0, list.find('%'));
    while (!list.empty()) {
        auto const comma = list.find(',');
        auto const range = parse_task_range(list.substr(0, comma));
        if (!range) return false;
        for (auto index = range->first; index <= range->last; index += range->step) use(index);
        list = comma == std::string_view::npos ? std::string_view{} : list.substr(comma + 1);
    }
    return true;
}

}  // namespace det::libslurm
