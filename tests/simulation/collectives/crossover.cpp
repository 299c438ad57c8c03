// collectives-crossover prints which algorithm is the fastest for each operation, by nodes and size, when the
// simulator executes the library's schedules, and where each row of the selection tables wins.
#include <algorithm>
#include <fmt/format.h>
#include <iostream>

#include "networks.hpp"

namespace {

using namespace det::collectives;
using namespace det::simulation;

constexpr std::string_view letters = "DRHTBCP";  // by Algorithm
static_assert(letters.size() == algorithms);

constexpr Kind kinds[] = {Kind::allreduce, Kind::broadcast, Kind::reduce};

/// The first of the fastest algorithms; those that differ by less than 0.1 % count as equally fast.
Algorithm fastest(std::vector<Price> const& priced) {
    constexpr double same = 1.001;
    auto const least = std::ranges::min_element(priced, {}, &Price::seconds)->seconds;
    return std::ranges::find_if(priced, [&](Price const& price) { return price.seconds <= same * least; })
        ->algorithm;
}

void print_fastest(Kind kind, std::string_view name, LogGP const& network) {
    std::cout << name << "\n nodes  1 KiB ... 256 MiB, in powers of two\n";
    for (int const ranks : node_counts) {
        std::string line;
        for (auto size = smallest_bytes; size <= largest_bytes; size *= 2)
            line += letters[static_cast<std::size_t>(fastest(prices(kind, ranks, size, network)))];
        std::cout << fmt::format("{:>6}  {}\n", ranks, line);
    }
}

void print_wins(Kind kind) {
    auto const table = selection_table(kind);
    auto const wins = wins_of_rows(kind);
    for (std::size_t i = 0; i < table.size(); ++i) {
        auto const& [factor, network, ranks, size] = wins[i];
        std::cout << fmt::format("{:<20} {:<51} wins by {:>4.0f} %: {} nodes, {} KiB, {}\n",
                                 name_of(table[i].algorithm), describe(table[i]), (factor - 1) * 100, ranks,
                                 size / 1024, network);
    }
    std::cout << '\n';
}

}  // namespace

int main() {
    for (std::size_t i = 0; i < algorithms; ++i)
        std::cout << letters[i] << ' ' << name_of(static_cast<Algorithm>(i)) << '\n';
    for (auto const kind : kinds) {
        auto const name = describe(Call{.kind = kind});
        std::cout << '\n' << name.substr(0, name.find('(')) << '\n';
        print_fastest(kind, "10 Gbit/s Ethernet", ethernet_10g);
        for (auto const& network : other_networks) print_fastest(kind, network.name, network.costs);
        print_wins(kind);
    }
}
