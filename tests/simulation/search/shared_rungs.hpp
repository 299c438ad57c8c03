#pragma once
#include <det/search/trial_search.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "steps.hpp"

namespace det::simulation {

/// The delays of a shared file system.
struct Visibility {
    double late_share = 0;   // of the pairs of a change and a node for which the change is late
    double delay_max_s = 0;  // of such a pair
    std::uint32_t seed = 0;
};

/// The directories of rungs on a file system where a change becomes visible on each other node after a time
/// of its own. The node that makes a change sees it at once.
class SharedRungs {
public:
    explicit SharedRungs(Visibility const& visibility = {}) : visibility_(visibility) {}

    struct Entry {
        std::string name;
        std::uint32_t node = 0;  // that has added it
        double added_s = 0;
        std::uint64_t seed = 0;  // of its delays
        std::uint32_t removed_by = 0;
        double removed_s = never;
    };
    using Rung = std::vector<Entry>;

    void add(std::uint32_t bracket, std::uint32_t rung, std::string const& name, std::uint32_t node,
             double now_s);
    void remove(std::uint32_t bracket, std::uint32_t rung, std::string const& name, std::uint32_t node,
                double now_s);
    std::vector<std::string> list(std::uint32_t bracket, std::uint32_t rung, std::uint32_t node,
                                  double now_s) const;
    /// All entries that were ever added, by bracket and rung.
    std::map<std::pair<std::uint32_t, std::uint32_t>, Rung> const& rungs() const { return rungs_; }
    /// The names that are not removed, as each node sees them in the end.
    std::vector<std::string> final_names(std::uint32_t bracket, std::uint32_t rung) const;

    static constexpr double never = 1e300;

private:
    bool sees(Entry const& entry, std::uint32_t node, double now_s) const;
    double delay_s(Entry const& entry, std::uint32_t from, std::uint32_t to) const;

    Visibility visibility_;
    std::uint64_t next_change_ = 0;
    std::map<std::pair<std::uint32_t, std::uint32_t>, Rung> rungs_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::unordered_set<std::string>> files_;  // not removed
};

/// The rungs as a process on one node sees them. The hook runs before and after each call.
class RungView final : public search::RungStore {
public:
    using Hook = std::function<void(Step)>;

    RungView(SharedRungs& rungs, std::uint32_t node, std::function<double()> clock_s, Hook hook = {})
        : rungs_(rungs), node_(node), clock_s_(std::move(clock_s)), hook_(std::move(hook)) {}

    Status add(std::uint32_t bracket, std::uint32_t rung, std::string const& entry) override;
    Result<std::vector<std::string>> list(std::uint32_t bracket, std::uint32_t rung) const override;
    Status remove(std::uint32_t bracket, std::uint32_t rung, std::string const& entry) override;

private:
    void reach(Step step) const {
        if (hook_) hook_(step);
    }

    SharedRungs& rungs_;
    std::uint32_t node_;
    std::function<double()> clock_s_;
    Hook hook_;
};

}  // namespace det::simulation
