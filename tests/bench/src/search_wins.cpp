// bench-search-wins [SEED]: the lowest loss that adaptive_asha and random search find on the synthetic
// benchmark of tests/simulation/search with the same total training time, over 200 random seeds.
// bench-search-wins --curves SEED COUNT: for a line of JSON with hyperparameters and a seed, prints the
// lowest loss of its trial after 1,000 reports; before that, COUNT lines of random draws.
#include <det/protocol/json.hpp>

#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <iostream>
#include <limits>
#include <random>

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

/// The lowest loss of a trial that trains to its end; NaN if it fails or reports none.
double best_loss_of(Json const& hyperparameters, std::uint32_t seed) {
    LearningCurve const curve(hyperparameters, seed, {});
    double best = std::numeric_limits<double>::quiet_NaN();
    for (std::uint64_t report = 1; report <= reports_max; ++report)
        best = std::fmin(best, curve.loss_at(report));
    return best;
}

/// Answers the program tests/bench/search_tpe.py.
int print_curves(std::uint32_t seed, std::uint32_t count) {
    SearcherSpec const random{"random", "loss", true, Json{{"max_trials", count}}};
    auto const drawn = search::Search::parse(random, search_space(), seed);
    if (!drawn) return to_int(ExitCode::internal);
    std::cout << search_space().dump() << '\n';
    for (auto const& draw : drawn->draw_first(count))
        std::cout << Json(best_loss_of(*draw.hyperparameters, draw.seed)).dump() << '\n';
    std::cout.flush();
    for (std::string line; std::getline(std::cin, line);) {
        auto const trial = Json::parse(line);
        std::cout << Json(best_loss_of(trial.at("hyperparameters"), trial.at("seed"))).dump() << std::endl;
    }
    return 0;
}

std::uint32_t number_of(char const* text) {
    return static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10));
}

}  // namespace

int main(int argc, char** argv) {
    std::vector<std::string> const arguments(argv + 1, argv + argc);
    if (arguments.size() == 3 && arguments[0] == "--curves")
        return print_curves(number_of(argv[2]), number_of(argv[3]));
    auto const search = plan();
    // Seeds in a row are as good as any others: the draws of each seed are those of its own generator.
    auto const first = arguments.empty() ? std::random_device()() % 10'000 : number_of(argv[1]);
    std::vector<bench::Pair> pairs;
    for (std::uint32_t i = 0; i < seeds; ++i) pairs.push_back(search_with(search, first + i));
    auto const wins = std::ranges::count_if(pairs, [](auto const& pair) { return pair.ours <= pair.peer; });
    auto const share = static_cast<double>(wins) / seeds;
    auto const [low, high] = confidence_interval(share, seeds);
    auto row = bench::summarise("search-wins", pairs, "loss", bench::Better::lower);
    row.more = {
        {"at_least_as_good", share}, {"interval_low", low}, {"interval_high", high}, {"first_seed", first}};
    std::cout << bench::render(row) << '\n';
    return 0;
}
