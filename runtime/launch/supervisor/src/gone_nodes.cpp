#include "gone_nodes.hpp"

#include <algorithm>

namespace det::launch::supervisor {

std::optional<int> GoneNodes::find(std::vector<int> const& refusing, Time now, Storage const& storage) {
    if (last_pass_at_ && now - *last_pass_at_ < between_passes) return std::nullopt;
    choose(refusing);
    if (std::ranges::none_of(watched_, [&](int node) { return is_due(node, now); })) return std::nullopt;
    last_pass_at_ = now;
    bool const works = storage.works();
    std::optional<int> gone;
    std::erase_if(watched_, [&](int node) {
        if (gone || !is_due(node, now)) return false;
        auto const before = nodes_.at(static_cast<std::size_t>(node)).file;
        auto const file = works ? storage.read(node) : std::nullopt;
        if (take(node, file, now)) gone = node;
        return works && (!file || (before && before != file));
    });
    return gone;
}

/// Keeps the watched nodes that still refuse, and fills the places of the others.
void GoneNodes::choose(std::vector<int> const& refusing) {
    std::erase_if(watched_, [&](int node) { return !std::ranges::binary_search(refusing, node); });
    auto const begin = std::ranges::upper_bound(refusing, last_chosen_) - refusing.begin();
    for (std::size_t i = 0; i < refusing.size() && watched_.size() < looks_max; ++i) {
        int const node = refusing[(static_cast<std::size_t>(begin) + i) % refusing.size()];
        if (std::ranges::find(watched_, node) != watched_.end()) continue;
        watched_.push_back(node);
        last_chosen_ = node;
    }
}

bool GoneNodes::is_due(int node, Time now) const {
    auto const& read_at = nodes_.at(static_cast<std::size_t>(node)).read_at;
    return !read_at || now - *read_at >= between_looks;
}

bool GoneNodes::take(int node, std::optional<std::int64_t> file, Time now) {
    auto& seen = nodes_.at(static_cast<std::size_t>(node));
    bool const is_unchanged = file && file == seen.file && seen.read_at && now - *seen.read_at <= gap_max;
    seen = {file, now, is_unchanged ? seen.since : now};
    return is_unchanged && now - seen.since >= limit_;
}

}  // namespace det::launch::supervisor
