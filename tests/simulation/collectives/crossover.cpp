// collectives-crossover [SVG]: which algorithm is the fastest for each operation, by ranks and size, as the
// simulator prices the schedules that the library executes; for some networks. Tables on stdout, those of
// Ethernet as rows of src/selection.cpp too; the same as a picture into SVG.
#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <fstream>
#include <iostream>
#include <map>

#include "networks.hpp"
#include "selection.hpp"

namespace {

using namespace det::collectives;
using namespace det::simulation;

constexpr int rank_counts[] = {2, 4, 8, 16, 32, 64, 128, 256, 3, 5, 6, 7, 12, 24, 48, 96, 192};
constexpr std::size_t smallest_bytes = 1024, largest_bytes = std::size_t{256} << 20;
constexpr std::string_view letters = "DRHTBCP";  // by Algorithm
constexpr std::string_view colours[] = {"#4c78a8", "#f58518", "#54a24b", "#b279a2",
                                        "#e45756", "#72b7b2", "#9d755d"};
constexpr std::string_view enumerators[] = {
    "recursive_doubling", "ring", "halving_doubling", "double_tree", "binomial_tree", "chain", "pairs"};
static_assert(letters.size() == algorithms && std::size(colours) == algorithms &&
              std::size(enumerators) == algorithms);

struct NamedNetwork {
    std::string_view name;
    LogGP costs;
};
constexpr NamedNetwork networks[] = {
    {"10 Gbit/s Ethernet, TCP", ethernet_10g},
    {"1 Gbit/s Ethernet, TCP", ethernet_1g},
    {"InfiniBand HDR", infiniband_hdr},
};

struct NamedKind {
    std::string_view name;
    Kind kind;
};
constexpr NamedKind kinds[] = {
    {"allreduce", Kind::allreduce},
    {"reduce_scatter", Kind::reduce_scatter},
    {"allgather", Kind::allgather_elements},
    {"broadcast", Kind::broadcast},
    {"reduce", Kind::reduce},
};

std::size_t index_of(Algorithm algorithm) { return static_cast<std::size_t>(algorithm); }

/// For a number of ranks: sizes, and what each algorithm costs there.
using Line = std::map<std::size_t, std::vector<Price>>;
using Table = std::vector<std::pair<int, Line>>;

Table price_all(Kind kind, LogGP const& network) {
    Table table;
    for (int const ranks : rank_counts) {
        Line line;
        for (auto size = smallest_bytes; size <= largest_bytes; size *= 2)
            line[size] = prices(kind, ranks, size, network);
        table.emplace_back(ranks, std::move(line));
    }
    return table;
}

/// Of those that cost the same the first.
Price const& best_of(std::vector<Price> const& priced) {
    constexpr double same = 1.001;
    auto const least = std::ranges::min_element(priced, {}, &Price::seconds)->seconds;
    return *std::ranges::find_if(priced, [&](Price const& price) { return price.seconds <= same * least; });
}

bool is_good_enough(Algorithm algorithm, std::vector<Price> const& priced) {
    constexpr double tolerance = 1.08;
    auto const price = std::ranges::find(priced, algorithm, &Price::algorithm);
    return price->seconds <= tolerance * best_of(priced).seconds;
}

std::string as_text(Table const& table) {
    std::string text = " ranks  1 KiB ... 256 MiB, in powers of two\n";
    for (auto const& [ranks, line] : table) {
        text += fmt::format("{:>6}  ", ranks);
        for (auto const& [size, priced] : line) text += letters[index_of(best_of(priced).algorithm)];
        text += '\n';
    }
    return text;
}

/// From which size on which algorithm.
using Changes = std::vector<std::pair<std::size_t, Algorithm>>;

/// It changes where another is clearly faster, and to a ring where that is no slower: each link then has but
/// one conversation each way, which real networks like better than the simulator knows.
Changes changes_in(Line const& line, bool has_symmetric_ring) {
    Changes changes;
    for (auto const& [size, priced] : line) {
        bool const is_ring = has_symmetric_ring && is_good_enough(Algorithm::ring, priced);
        auto const wanted = is_ring ? Algorithm::ring : best_of(priced).algorithm;
        bool const goes_on = !changes.empty() && is_good_enough(changes.back().second, priced) && !is_ring;
        if (!goes_on && (changes.empty() || changes.back().second != wanted))
            changes.emplace_back(changes.empty() ? 0 : size, wanted);
    }
    return changes;
}

bool is_good_enough(Changes const& changes, Line const& line) {
    return std::ranges::all_of(line, [&](auto const& entry) {
        auto const last = std::ranges::find_if(changes.rbegin(), changes.rend(), [&](auto const& change) {
            return change.first <= entry.first;
        });
        return is_good_enough(last->second, entry.second);
    });
}

/// Rows as selection.cpp has them: with more ranks the same holds as long as it is good enough.
std::string as_rows(Kind kind, Table const& table) {
    std::map<std::pair<bool, int>, Line const*> lines;  // others, then powers of two
    for (auto const& [ranks, line] : table)
        lines[{std::has_single_bit(static_cast<unsigned>(ranks)), ranks}] = &line;
    struct Rows {
        bool is_power_of_two;
        int ranks_max;
        Changes changes;
    };
    std::vector<Rows> all;
    for (auto const& [key, line] : lines) {
        auto const [is_power_of_two, ranks] = key;
        bool const is_new = all.empty() || all.back().is_power_of_two != is_power_of_two;
        if (!is_new && is_good_enough(all.back().changes, *line)) {
            all.back().ranks_max = ranks;
        } else {
            all.push_back({is_power_of_two, ranks, changes_in(*line, is_symmetric({.kind = kind}))});
        }
    }
    std::string text;
    for (std::size_t i = 0; i < all.size(); ++i) {
        bool const is_last = i + 1 == all.size() || all[i + 1].is_power_of_two != all[i].is_power_of_two;
        for (auto const& [size, algorithm] : all[i].changes) {
            auto const from = size == 0            ? std::string("0")
                              : size < 1024 * 1024 ? fmt::format("{} * kib", size / 1024)
                                                   : fmt::format("{} * mib", size / 1024 / 1024);
            text += fmt::format(
                "    {{{}, {}, {}, {}}},\n", all[i].is_power_of_two ? "power_of_two" : "other",
                is_last ? "any" : std::to_string(all[i].ranks_max), from, enumerators[index_of(algorithm)]);
        }
    }
    return text;
}

constexpr int cell_width = 16, cell_height = 14;
constexpr int table_width = 19 * cell_width + 70, table_height = (std::size(rank_counts) + 3) * cell_height;

std::string as_svg(std::string_view title, Table const& table, int left, int top) {
    std::string svg = fmt::format("<text x='{}' y='{}'>{}</text>\n", left, top - 6, title);
    for (int row = 0; auto const& [ranks, line] : table) {
        int const y = top + row++ * cell_height;
        svg += fmt::format("<text x='{}' y='{}' text-anchor='end'>{}</text>\n", left + 30, y + 11, ranks);
        for (int column = 0; auto const& [size, priced] : line) {
            svg += fmt::format("<rect x='{}' y='{}' width='{}' height='{}' fill='{}'/>\n",
                               left + 36 + column++ * cell_width, y, cell_width - 1, cell_height - 1,
                               colours[index_of(best_of(priced).algorithm)]);
        }
    }
    return svg;
}

std::string legend(int top) {
    std::string svg =
        fmt::format("<text x='20' y='{}'>ranks down, 1 KiB to 256 MiB across</text>\n", top - 10);
    for (std::size_t i = 0; i + 1 < algorithms; ++i) {
        svg += fmt::format(
            "<rect x='{0}' y='{1}' width='14' height='14' fill='{2}'/><text x='{3}' y='{4}'>{5}</text>\n",
            20 + i * 170, top, colours[i], 40 + i * 170, top + 12, name_of(static_cast<Algorithm>(i)));
    }
    return svg;
}

}  // namespace

int main(int argc, char** argv) {
    std::string drawing;
    for (int down = 0; auto const& [name, kind] : kinds) {
        int const top = 30 + down++ * table_height;
        for (int across = 0; auto const& network : networks) {
            auto const table = price_all(kind, network.costs);
            std::cout << name << ", " << network.name << '\n' << as_text(table) << '\n';
            if (across == 0) std::cout << as_rows(kind, table) << '\n';
            drawing +=
                as_svg(fmt::format("{}, {}", name, network.name), table, 10 + across++ * table_width, top);
        }
    }
    for (std::size_t i = 0; i < algorithms; ++i)
        std::cout << letters[i] << ' ' << name_of(static_cast<Algorithm>(i)) << '\n';
    if (argc < 2) return 0;
    int const height = static_cast<int>(std::size(kinds)) * table_height + 60;
    std::ofstream file(argv[1]);
    file << fmt::format(
        "<svg xmlns='http://www.w3.org/2000/svg' width='{}' height='{}' font-family='sans-serif' "
        "font-size='12'>\n{}{}</svg>\n",
        3 * table_width + 20, height, drawing, legend(height - 30));
    return file.good() ? 0 : 1;
}
