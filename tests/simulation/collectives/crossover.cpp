// collectives-crossover [SVG]: which algorithm is the fastest for an allreduce, by ranks and size, as the
// simulator prices the schedules that the library executes; for some networks. A table on stdout, the same as
// a picture into SVG.
#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <iostream>

#include "networks.hpp"

namespace {

using namespace det::collectives;
using namespace det::simulation;

constexpr int rank_counts[] = {2, 4, 8, 16, 32, 64, 128, 256, 3, 5, 6, 7, 12, 24, 48, 96, 192};
constexpr std::size_t smallest_bytes = 1024, largest_bytes = std::size_t{256} << 20;
constexpr char letters[] = "DRHT";  // by Algorithm
constexpr std::string_view colours[] = {"#4c78a8", "#f58518", "#54a24b", "#b279a2"};

struct NamedNetwork {
    std::string_view name;
    LogGP costs;
};
constexpr NamedNetwork networks[] = {
    {"10 Gbit/s Ethernet, TCP", ethernet_10g},
    {"1 Gbit/s Ethernet, TCP", ethernet_1g},
    {"InfiniBand HDR", infiniband_hdr},
};

struct Cell {
    int ranks;
    std::size_t size_bytes;
    std::size_t best;
};

std::vector<Cell> find_best(LogGP const& network) {
    std::vector<Cell> cells;
    for (int const ranks : rank_counts) {
        for (auto size = smallest_bytes; size <= largest_bytes; size *= 2) {
            auto const priced = prices(ranks, size, network);
            auto const best = std::ranges::min_element(priced) - priced.begin();
            cells.push_back({ranks, size, static_cast<std::size_t>(best)});
        }
    }
    return cells;
}

std::string as_text(std::vector<Cell> const& cells) {
    std::string text = " ranks  1 KiB ... 256 MiB, in powers of two\n";
    for (auto const& cell : cells) {
        if (cell.size_bytes == smallest_bytes) text += fmt::format("{:>6}  ", cell.ranks);
        text += letters[cell.best];
        if (cell.size_bytes == largest_bytes) text += '\n';
    }
    return text;
}

/// Rows as selection.cpp has them.
std::string as_rows(std::vector<Cell> const& cells) {
    std::string text;
    Cell const* before = nullptr;
    for (auto const& cell : cells) {
        if (before == nullptr || before->ranks != cell.ranks || before->best != cell.best) {
            text += fmt::format("    {} ranks from {} bytes: {}\n", cell.ranks, cell.size_bytes,
                                name_of(static_cast<Algorithm>(cell.best)));
        }
        before = &cell;
    }
    return text;
}

std::string as_svg(std::string_view title, std::vector<Cell> const& cells, int top) {
    constexpr int width = 24, height = 18, left = 60;
    std::string svg = fmt::format("<text x='{}' y='{}'>{}: ranks down, 1 KiB to 256 MiB across</text>\n",
                                  left, top - 6, title);
    int row = -1, column = 0;
    for (auto const& cell : cells) {
        if (cell.size_bytes == smallest_bytes) {
            ++row;
            column = 0;
            svg += fmt::format("<text x='10' y='{}'>{}</text>\n", top + row * height + 13, cell.ranks);
        }
        svg +=
            fmt::format("<rect x='{}' y='{}' width='{}' height='{}' fill='{}'/>\n", left + column++ * width,
                        top + row * height, width - 1, height - 1, colours[cell.best]);
    }
    return svg;
}

std::string legend(int top) {
    std::string svg;
    for (std::size_t i = 0; i < algorithms; ++i) {
        svg += fmt::format(
            "<rect x='{0}' y='{1}' width='14' height='14' fill='{2}'/><text x='{3}' y='{4}'>{5}</text>\n",
            60 + i * 170, top, colours[i], 80 + i * 170, top + 12, name_of(static_cast<Algorithm>(i)));
    }
    return svg;
}

}  // namespace

int main(int argc, char** argv) {
    std::string drawing;
    int top = 30;
    for (auto const& network : networks) {
        auto const cells = find_best(network.costs);
        std::cout << network.name << '\n' << as_text(cells) << as_rows(cells) << '\n';
        drawing += as_svg(network.name, cells, top);
        top += static_cast<int>(std::size(rank_counts)) * 18 + 40;
    }
    for (std::size_t i = 0; i < algorithms; ++i) {
        std::cout << letters[i] << ' ' << name_of(static_cast<Algorithm>(i)) << '\n';
    }
    if (argc < 2) return 0;
    std::ofstream file(argv[1]);
    file << fmt::format(
        "<svg xmlns='http://www.w3.org/2000/svg' width='760' height='{}' font-family='sans-serif' "
        "font-size='12'>\n{}{}</svg>\n",
        top + 20, drawing, legend(top - 16));
    return file.good() ? 0 : 1;
}
