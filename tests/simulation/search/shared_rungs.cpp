#include "shared_rungs.hpp"

namespace det::simulation {
namespace {

std::uint64_t hash(std::uint64_t a, std::uint64_t b) {
    auto value = (a ^ (b * 0x9e3779b97f4a7c15U)) + 0x9e3779b97f4a7c15U;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
    return value ^ (value >> 31);
}

double to_unit_interval(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

}  // namespace

void SharedRungs::add(std::uint32_t bracket, std::uint32_t rung, std::string const& name, std::uint32_t node,
                      double now_s) {
    auto& entries = rungs_[{bracket, rung}];
    if (!files_[{bracket, rung}].insert(name).second) return;  // one file replaces the other
    entries.push_back({name, node, now_s, hash(hash(visibility_.seed, node), next_change_++)});
}

void SharedRungs::remove(std::uint32_t bracket, std::uint32_t rung, std::string const& name,
                         std::uint32_t node, double now_s) {
    files_[{bracket, rung}].erase(name);
    for (auto& entry : rungs_[{bracket, rung}]) {
        if (entry.name != name || entry.removed_s != never) continue;
        entry.removed_by = node;
        entry.removed_s = now_s;
    }
}

std::vector<std::string> SharedRungs::list(std::uint32_t bracket, std::uint32_t rung, std::uint32_t node,
                                           double now_s) const {
    std::vector<std::string> names;
    auto const found = rungs_.find({bracket, rung});
    if (found == rungs_.end()) return names;
    names.reserve(found->second.size());
    for (auto const& entry : found->second) {
        if (sees(entry, node, now_s)) names.push_back(entry.name);
    }
    return names;
}

std::vector<std::string> SharedRungs::final_names(std::uint32_t bracket, std::uint32_t rung) const {
    std::vector<std::string> names;
    auto const found = rungs_.find({bracket, rung});
    if (found == rungs_.end()) return names;
    for (auto const& entry : found->second) {
        if (entry.removed_s == never) names.push_back(entry.name);
    }
    return names;
}

bool SharedRungs::sees(Entry const& entry, std::uint32_t node, double now_s) const {
    if (now_s < entry.added_s + delay_s(entry, entry.node, node)) return false;
    return entry.removed_s == never || now_s < entry.removed_s + delay_s(entry, entry.removed_by, node);
}

double SharedRungs::delay_s(Entry const& entry, std::uint32_t from, std::uint32_t to) const {
    if (from == to || visibility_.late_share <= 0) return 0;
    auto const bits = hash(entry.seed, to);
    if (to_unit_interval(bits) >= visibility_.late_share) return 0;
    return visibility_.delay_max_s * to_unit_interval(hash(bits, from));
}

Status RungView::add(std::uint32_t bracket, std::uint32_t rung, std::string const& entry) {
    reach(Step::before_add);
    rungs_.add(bracket, rung, entry, node_, clock_s_());
    reach(Step::after_add);
    return Ok{};
}

Result<std::vector<std::string>> RungView::list(std::uint32_t bracket, std::uint32_t rung) const {
    reach(Step::before_list);
    auto names = rungs_.list(bracket, rung, node_, clock_s_());
    reach(Step::after_list);
    return names;
}

Status RungView::remove(std::uint32_t bracket, std::uint32_t rung, std::string const& entry) {
    reach(Step::before_remove);
    rungs_.remove(bracket, rung, entry, node_, clock_s_());
    reach(Step::after_remove);
    return Ok{};
}

}  // namespace det::simulation
