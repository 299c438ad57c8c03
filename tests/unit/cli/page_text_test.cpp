// Manual pages as --help prints them.
#include "output/page_text.hpp"

#include <boost/test/unit_test.hpp>

#include "cli_support.hpp"
#include "help_pages.hpp"
#include "output/table.hpp"

using namespace det;
using namespace det::cli;

BOOST_AUTO_TEST_SUITE(page_text_test)

BOOST_AUTO_TEST_CASE(the_cells_of_a_table_wrap_inside_their_columns) {
    BOOST_TEST(render_page("| | |\n|---|---|\n| --a B | one two three four five six |\n"
                           "| --long-name X, -l X | b |\n",
                           40) ==
               "  --a B          one two three four five\n"
               "                 six\n"
               "  --long-name    b\n"
               "  X, -l X\n");
    BOOST_TEST(render_page("| key | |\n|---|---|\n| a\\|b | see [there](x.md) |\n", 40) ==
               "  key\n  a|b       see there\n");
}

BOOST_AUTO_TEST_CASE(paragraphs_and_lists_wrap_and_code_does_not) {
    BOOST_TEST(render_page("one two three\nfour\n\n    code that is longer than a line\n", 10) ==
               "one two\nthree four\n\n    code that is longer than a line\n");
    BOOST_TEST(render_page("- one two three\n  four\n- **five**\n", 10) ==
               "- one two\n  three\n  four\n- five\n");
    BOOST_TEST(render_page("(100\n- N), above\n", 40) == "(100 - N), above\n");
    BOOST_TEST(render_page("0123456789abc\n", 10) == "0123456789\nabc\n");
}

BOOST_AUTO_TEST_CASE(usage_wraps_and_other_code_does_not) {
    BOOST_TEST(render_page("## Usage\n\n    det-submit x [--one] [--two]\n", 28) ==
               "## Usage\n\n    det-submit x [--one]\n        [--two]\n");
    BOOST_TEST(render_page("## Usage\n\n    det-submit x [--one] [--two N]\n", 36) ==
               "## Usage\n\n    det-submit x [--one]\n        [--two N]\n");
    BOOST_TEST(render_page("## Usage\n\n    a b\n        [c]\n    d\n\ntext\n", 36) ==
               "## Usage\n\n    a b [c]\n    d\n\ntext\n");
    BOOST_TEST(render_page("## Usage\n\n## Examples\n\n    det-submit x [--one] [--two]\n", 20) ==
               "## Usage\n\n## Examples\n\n    det-submit x [--one] [--two]\n");
}

BOOST_AUTO_TEST_CASE(an_overview_wraps_behind_its_names) {
    BOOST_TEST(render_page("  a set   one two three four five\n", 34) ==
               "  a set   one two three four five\n");
    BOOST_TEST(render_page("  a set   one two three four sevens\n", 34) ==
               "  a set   one two three four\n          sevens\n");
    BOOST_TEST(render_page("  a set   one two three\n", 18) == "  a set\n    one two three\n");
}

BOOST_AUTO_TEST_CASE(every_page_fits_every_width_and_loses_no_word) {
    for (auto const& entry : command_table()) {
        auto const page = find_page(entry.page_name());
        for (std::size_t const columns : {40u, 80u, 200u}) {
            auto const text = render_page(page, columns);
            for (auto const line : split_lines(text)) {
                bool const is_as_written = line.starts_with("    ") || line.starts_with("#");
                if (!is_as_written) BOOST_TEST(display_width(line) <= columns, line);
                BOOST_TEST(!line.starts_with("|"), line);
            }
            for (auto const& option : entry.make()->options()) {
                for (auto const name : split(option.names, ','))
                    if (name.starts_with("--") && columns > 40) BOOST_TEST(contains(text, name), name);
            }
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
