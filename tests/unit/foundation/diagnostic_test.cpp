#include <det/foundation/diagnostic.hpp>
#include <det/foundation/result.hpp>

#include <boost/test/unit_test.hpp>

#include "check_result.hpp"
#include "golden.hpp"

using namespace det;

namespace diagnostic_test {

Error unknown_key(int line, int column) {
    return Error{codes::unknown_key, "unknown key 'slot_per_trial' in resources", "use 'slots_per_trial'",
                 SourceSpan{"exp.yaml", line, column, 14, "  slot_per_trial: 16"}};
}

Result<int> fail_with_an_error() { return unknown_key(14, 3); }

Result<int, Diagnostics> try_what_returns_an_error() {
    DET_TRY_ASSIGN(auto value, fail_with_an_error());
    DET_TRY(fail_with_an_error());
    return value;
}

}  // namespace diagnostic_test

BOOST_AUTO_TEST_SUITE(diagnostic_test)

BOOST_AUTO_TEST_CASE(an_error_points_at_its_place_and_says_what_to_do) {
    check_golden("diagnostics/unknown_key.txt",
                 explain(unknown_key(14, 3).while_doing("reading the template 'small'")));
}

BOOST_AUTO_TEST_CASE(an_error_without_a_place_names_the_program) {
    std::ostringstream out;
    print(out, Error{codes::slurm_refused, "Slurm refused the job"}.noting("sbatch said:\n  Invalid qos"),
          RenderStyle{Colour::never, "det-submit"});
    check_golden("diagnostics/no_place.txt", out.str());
}

BOOST_AUTO_TEST_CASE(errors_come_sorted_by_place) {
    Diagnostics found;
    found.report(unknown_key(14, 3));
    found.warn(unknown_key(2, 5));
    found.report(Error{codes::slurm_unreachable, "no answer"});
    auto const sorted = found.sorted();
    BOOST_TEST(!sorted[0].error.where);
    BOOST_TEST(sorted[1].error.where->line == 2);
    BOOST_TEST(sorted[2].error.where->line == 14);
    BOOST_TEST(to_int(found.exit_code()) == 6);
}

BOOST_AUTO_TEST_CASE(an_error_becomes_diagnostics_where_a_function_returns_those) {
    auto const result = try_what_returns_an_error();
    BOOST_REQUIRE(!result);
    BOOST_TEST(result.error().sorted().size() == 1u);
    BOOST_TEST((result.error().sorted().front().error.code == codes::unknown_key));
}

BOOST_AUTO_TEST_CASE(warnings_alone_are_no_failure) {
    Diagnostics found;
    found.warn(unknown_key(1, 1));
    BOOST_TEST(!found.has_errors());
    BOOST_TEST(to_int(found.exit_code()) == 0);
}

BOOST_AUTO_TEST_CASE(foreign_bytes_in_a_message_are_escaped) {
    auto const text = explain(Error{codes::bad_value, "bad name '\x1b]0;x\x07'"});
    BOOST_TEST(text.find('\x1b') == std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
