// bench-search-wins: the lowest loss that adaptive_asha and random search find on the synthetic benchmark of
// tests/simulation/search with the same total training time, over 200 seeds.
#include <det/protocol/json.hpp>

#include <cmath>
#include <fmt/format.h>
#include <iostream>

#include "row.hpp"
#include "search_run.hpp"

namespace {

using namespace det;
using namespace det::simulation;

constexpr std::uint32_t seeds = 200;
constexpr std::uint32_t trials = 1000;
constexpr std::uint64_t reports_max = 1000;
constexpr FaultRates faults{0.02, 0.01};

search::AshaSearch plan() {
    Json const options{
        {"max_length", {{"batches", reports_max}}}, {"max_trials", trials}, {"max_concurrent_trials", 16}};
    auto planned = search::plan_asha({"adaptive_asha", "loss", true, options});
    if (planned) return *std::move(planned);
    std::cerr << "bench-search-wins: error: " << planned.error().front().error.message << '\n';
    std::quick_exit(to_int(ExitCode::internal));
}

/// The lowest losses of both searches. Random search draws the same trials and is cut off at the same time.
bench::Pair search_with(search::AshaSearch const& search, std::uint32_t seed) {
    auto const curves = draw_curves(seed, 2 * trials, faults);
    Jobs jobs;
    jobs.trials = search.trial_count();
    jobs.concurrent_trials = search.concurrent_trials();
    jobs.decision_delay_max_s = 1;
    jobs.reports_max = reports_max;
    jobs.seed = seed;
    TrialSearchJudge asha(search, {.late_share = 0.1, .delay_max_s = 60, .seed = seed});
    auto const ours = run_search(curves, jobs, asha);
    jobs.budget_s = ours.budget_s;
    NoJudge random;
    return {ours.best_loss, run_search(curves, jobs, random).best_loss};
}

/// The 95 % confidence interval of a share, by Wilson.
std::pair<double, double> confidence_interval(double share, double count) {
    constexpr double z = 1.959964;
    auto const scale = 1 + z * z / count;
    auto const middle = (share + z * z / (2 * count)) / scale;
    auto const half = z * std::sqrt(share * (1 - share) / count + z * z / (4 * count * count)) / scale;
    return {middle - half, middle + half};
}

}  // namespace

int main() {
    auto const search = plan();
    std::vector<bench::Pair> pairs;
    for (std::uint32_t seed = 0; seed < seeds; ++seed) pairs.push_back(search_with(search, seed));
    auto const wins = std::ranges::count_if(pairs, [](auto const& pair) { return pair.ours <= pair.peer; });
    auto const share = static_cast<double>(wins) / seeds;
    auto const [low, high] = confidence_interval(share, seeds);
    auto row = bench::summarise("search-wins", pairs, "loss", bench::Better::lower);
    row.more = {{"at_least_as_good", share}, {"interval_low", low}, {"interval_high", high}};
    std::cout << bench::render(row) << '\n';
    return 0;
}
