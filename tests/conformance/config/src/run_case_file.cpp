#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <fmt/format.h>
#include <ostream>

#include "conformance_case.hpp"

namespace det::config::conformance {
namespace {

constexpr std::size_t case_file_limit_bytes = std::size_t{1} << 20;

Result<std::vector<ConformanceCase>, Diagnostics> load_conformance_cases(std::string const& path) {
    DET_TRY_ASSIGN(auto const text, read_file(path, case_file_limit_bytes));
    return parse_conformance_cases(text, path);
}

std::string_view verdict_name(CaseOutcome::Verdict verdict) {
    switch (verdict) {
        case CaseOutcome::Verdict::ok:
            return "ok";
        case CaseOutcome::Verdict::not_ok:
            return "not ok";
        case CaseOutcome::Verdict::skipped:
            return "skip";
    }
    return "not ok";
}

}  // namespace

ExitCode run_case_file(std::string const& path, std::ostream& out, std::ostream& err) {
    auto const cases = load_conformance_cases(path);
    if (!cases) {
        print(err, cases.error(), RenderStyle{});
        return cases.error().exit_code();
    }
    int passed = 0, failed = 0, skipped = 0;
    for (auto const& each : *cases) {
        auto const outcome = run_case(each);
        ++(outcome.verdict == CaseOutcome::Verdict::ok        ? passed
           : outcome.verdict == CaseOutcome::Verdict::skipped ? skipped
                                                              : failed);
        auto const why = outcome.why.empty() ? "" : ": " + outcome.why;
        out << verdict_name(outcome.verdict) << ' ' << escape_control(each.name + why) << '\n';
    }
    err << fmt::format("{} passed, {} failed, {} skipped\n", passed, failed, skipped);
    return failed == 0 ? ExitCode::done : ExitCode::could_not;
}

}  // namespace det::config::conformance
