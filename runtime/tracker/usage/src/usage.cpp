#include <det/tracker/usage/usage.hpp>

#include <algorithm>
#include <numeric>

namespace det::tracker::usage {
namespace {

constexpr std::array<std::string_view, use_count> use_names{
    "training",           "waiting",     "saving", "starting", "ending", "idle", "redone",
    "lost_to_preemption", "lost_to_node"};

/// A period of time in microseconds; empty if it ends before it begins.
struct Period {
    std::int64_t begin = 0;
    std::int64_t end = 0;

    std::int64_t length() const { return std::max<std::int64_t>(0, end - begin); }
};

Period intersection(Period a, Period b) { return {std::max(a.begin, b.begin), std::min(a.end, b.end)}; }

/// A run, the period in which it used the allocation, and the slots that it got.
struct PlacedRun {
    RunPhases const* run;
    Period period;
    std::int64_t slots;
};

void remove_ended(std::vector<PlacedRun const*>& runs, std::int64_t now) {
    std::erase_if(runs, [&](auto const* run) { return run->period.end <= now; });
}

std::int64_t slots_of(std::vector<PlacedRun const*> const& runs) {
    return std::accumulate(runs.begin(), runs.end(), std::int64_t{0},
                           [](auto sum, auto const* run) { return sum + run->slots; });
}

/// Gives each run its slots, in the order of their starts. A run that begins while fewer slots are free than
/// it needs gets only the free ones.
std::vector<PlacedRun> place_runs(Allocation const& allocation) {
    Period const whole{allocation.started.microseconds, allocation.ended.microseconds};
    std::vector<PlacedRun> placed;
    for (auto const& run : allocation.runs) {
        auto const end = run.ended ? run.ended->microseconds : whole.end;
        auto const period = intersection(whole, {run.begun.microseconds, end});
        if (period.length() > 0) placed.push_back({&run, period, 0});
    }
    std::ranges::stable_sort(placed, {}, [](auto const& p) { return p.period.begin; });
    std::vector<PlacedRun const*> active;
    for (auto& run : placed) {
        remove_ended(active, run.period.begin);
        run.slots = std::min<std::int64_t>(run.run->slots, allocation.slots - slots_of(active));
        active.push_back(&run);
    }
    return placed;
}

/// Adds a period of training. The part until kept_until counts as training, the rest as lost.
void add_training(Usage& usage, PlacedRun const& placed, Period period) {
    auto const& run = *placed.run;
    auto const cut =
        run.kept_until ? std::clamp(run.kept_until->microseconds, period.begin, period.end) : period.end;
    usage.add(Use::training, (cut - period.begin) * placed.slots);
    usage.add(run.lost_as, (period.end - cut) * placed.slots, run.cause.empty() ? "unknown" : run.cause);
}

/// Moves the time in which ranks waited for each other, which was counted as training, to `waiting`.
void move_waiting(Usage& usage, PlacedRun const& placed) {
    auto const waited = std::clamp<std::int64_t>(placed.run->waited_slot_us, 0, usage.of(Use::training));
    usage.add(Use::training, -waited);
    usage.add(Use::waiting, waited);
}

Usage divide_run(PlacedRun const& placed) {
    Usage usage;
    auto const& run = *placed.run;
    auto const [begin, end] = placed.period;
    auto at = run.trained ? std::clamp(run.trained->microseconds, begin, end) : end;
    usage.add(Use::starting, (at - begin) * placed.slots, run.start_cause);
    for (auto const& save : run.saves) {
        auto const blocked_us = std::max<std::int64_t>(save.blocked_us, 0);
        auto const begun = std::max(at, save.committed.microseconds - blocked_us);
        auto const saved = std::min(end, save.committed.microseconds);
        if (saved <= begun) continue;
        add_training(usage, placed, {at, begun});
        usage.add(Use::saving, (saved - begun) * placed.slots);
        at = saved;
    }
    add_training(usage, placed, {at, end});
    move_waiting(usage, placed);
    return usage;
}

/// Adds the slot time in which no run had the slots: as `idle` while another run had some, else as `starting`
/// before a run and as `ending` after the last one.
void add_free_slots(Usage& usage, Allocation const& allocation, std::vector<PlacedRun> const& placed) {
    std::vector<std::int64_t> times{allocation.started.microseconds, allocation.ended.microseconds};
    for (auto const& p : placed) {
        times.push_back(p.period.begin);
        times.push_back(p.period.end);
    }
    std::ranges::sort(times);
    std::size_t next = 0;  // of placed: the first run that begins at this time or later
    std::vector<PlacedRun const*> active;
    for (std::size_t i = 0; i + 1 < times.size(); ++i) {
        auto const length = times[i + 1] - times[i];
        if (length == 0) continue;
        remove_ended(active, times[i]);
        while (next < placed.size() && placed[next].period.begin <= times[i])
            active.push_back(&placed[next++]);
        auto const free = (std::int64_t{allocation.slots} - slots_of(active)) * length;
        if (!active.empty()) {
            usage.add(Use::idle, free);
        } else if (next < placed.size()) {
            usage.add(Use::starting, free, placed[next].run->start_cause);
        } else {
            usage.add(placed.empty() ? Use::starting : Use::ending, free, placed.empty() ? "first" : "");
        }
    }
}

}  // namespace

std::string_view to_string(Use use) { return use_names.at(static_cast<std::size_t>(use)); }

std::string_view to_string(EndSource source) {
    constexpr std::array<std::string_view, 5> names{"slurm", "requeue", "journal", "running", "accounting"};
    return names.at(static_cast<std::size_t>(source));
}

std::int64_t Usage::total() const { return std::accumulate(by_use.begin(), by_use.end(), std::int64_t{0}); }

void Usage::add(Use use, std::int64_t slot_us, std::string const& cause) {
    by_use.at(static_cast<std::size_t>(use)) += slot_us;
    if (!cause.empty() && slot_us != 0) by_cause[{use, cause}] += slot_us;
}

Usage& Usage::operator+=(Usage const& other) {
    for (std::size_t i = 0; i < use_count; ++i) by_use[i] += other.by_use[i];
    for (auto const& [key, slot_us] : other.by_cause) by_cause[key] += slot_us;
    return *this;
}

Usage divide(Allocation const& allocation) {
    Usage usage;
    if (allocation.slot_us() <= 0) return usage;
    auto const placed = place_runs(allocation);
    for (auto const& run : placed) usage += divide_run(run);
    add_free_slots(usage, allocation, placed);
    return usage;
}

}  // namespace det::tracker::usage
