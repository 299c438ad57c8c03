#include "output/plot.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

#include "cli_support.hpp"
#include "example_experiments.hpp"
#include "golden.hpp"

using namespace det;
using namespace det::cli;

namespace plot_test {

OutputStyle const ascii{60, false, false}, braille{60, false, true}, coloured{60, true, true};

Curve wave(std::string label, double phase) {
    Curve curve{std::move(label), {}};
    for (int i = 0; i <= 100; ++i) curve.points.push_back({i * 10.0, std::sin(i / 10.0 + phase)});
    return curve;
}

std::size_t count_marks(std::string const& text, char mark) {
    return static_cast<std::size_t>(std::ranges::count(text, mark));
}

}  // namespace plot_test

BOOST_AUTO_TEST_SUITE(plot_test)

BOOST_AUTO_TEST_CASE(one_curve_is_drawn_in_braille) {
    check_golden("cli/plot_braille.txt", render_plot("training loss", {wave("1.0", 0)}, braille));
}

BOOST_AUTO_TEST_CASE(curves_are_overlaid_with_signs_or_colours) {
    check_golden("cli/plot_ascii.txt", render_plot("loss", {wave("1.0", 0), wave("1.1", 1)}, ascii));
    check_golden("cli/plot_colour.txt", render_plot("loss", {wave("1.0", 0), wave("1.1", 1)}, coloured));
    BOOST_TEST(render_plot("loss", {wave("1.0", 0), wave("1.1", 1)}, braille).find('*') != std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_is_not_finite_is_a_gap) {
    constexpr auto nan = std::numeric_limits<double>::quiet_NaN();
    constexpr auto infinity = std::numeric_limits<double>::infinity();
    auto const whole = render_plot("", {{"", {{0, 0}, {1, 1}, {2, 2}}}}, ascii, 4);
    auto const gap = render_plot("", {{"", {{0, 0}, {1, nan}, {1, infinity}, {2, 2}}}}, ascii, 4);
    BOOST_TEST(count_marks(whole, '*') > 10u);
    BOOST_TEST(count_marks(gap, '*') == 2u);
    BOOST_TEST(render_plot("loss", {{"", {{0, nan}, {1, -infinity}}}}, ascii) == "");
    BOOST_TEST(render_plot("loss", {}, ascii) == "");
}

BOOST_AUTO_TEST_CASE(a_line_never_goes_back) {
    auto const text = render_plot("", {{"", {{0, 0}, {100, 0}, {50, 10}, {100, 10}}}}, ascii, 5);
    std::vector<std::string> lines;
    for (auto const line : split(text, '\n')) lines.emplace_back(line);
    BOOST_TEST(count_marks(lines.at(2), '*') + count_marks(lines.at(3), '*') == 0u);
}

BOOST_AUTO_TEST_CASE(extreme_values_are_drawn) {
    constexpr auto largest = std::numeric_limits<double>::max();
    BOOST_TEST(count_marks(render_plot("", {{"", {{0, -largest}, {1, largest}}}}, ascii), '*') > 2u);
    BOOST_TEST(count_marks(render_plot("", {{"", {{5, 0.5}}}}, ascii), '*') == 1u);
    BOOST_TEST(count_marks(render_plot("", {{"", {{0, largest}}}}, ascii), '*') == 1u);
    BOOST_TEST(count_marks(render_plot("", {{"", {{0, 5e-324}}}}, ascii), '*') == 1u);
}

BOOST_AUTO_TEST_CASE(the_style_follows_the_environment) {
    auto const style = [](Destination destination,
                          std::map<std::string, std::string, std::less<>> variables) {
        return output_style_of(Environment(std::move(variables)), destination);
    };
    auto const file = Destination::pipe_or_file, terminal = Destination::terminal;
    BOOST_TEST(style(file, {}).columns == 80u);
    BOOST_TEST(style(file, {{"COLUMNS", "120"}}).columns == 120u);
    BOOST_TEST(style(file, {{"COLUMNS", "1"}}).columns == 40u);
    BOOST_TEST(style(file, {{"COLUMNS", "x"}}).columns == 80u);
    BOOST_TEST(!style(file, {{"TERM", "xterm"}}).has_colour);
    BOOST_TEST(style(terminal, {{"TERM", "xterm"}}).has_colour);
    BOOST_TEST(!style(terminal, {{"TERM", "xterm"}, {"NO_COLOR", "1"}}).has_colour);
    BOOST_TEST(!style(terminal, {{"TERM", "dumb"}}).has_colour);
    BOOST_TEST(style(file, {{"LANG", "C.UTF-8"}}).has_unicode);
    BOOST_TEST(style(file, {{"LANG", "de_DE.utf8"}}).has_unicode);
    BOOST_TEST(!style(file, {{"LC_ALL", "C"}, {"LANG", "C.UTF-8"}}).has_unicode);
    BOOST_TEST(!style(file, {}).has_unicode);
}

BOOST_AUTO_TEST_SUITE_END()
