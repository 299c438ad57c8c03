#include <det/config/conformance/conformance_case.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>

#include <fmt/format.h>
#include <ostream>

#include "command.hpp"

namespace det::cli {
namespace {

using config::conformance::CaseOutcome;
using Verdict = CaseOutcome::Verdict;

constexpr std::size_t case_file_limit_bytes = std::size_t{1} << 20;

std::string_view verdict_name(Verdict verdict) {
    switch (verdict) {
        case Verdict::ok:
            return "ok";
        case Verdict::not_ok:
            return "not ok";
        case Verdict::skipped:
            return "skip";
    }
    return "not ok";
}

class ConfigConform final : public Command {
public:
    std::vector<Option> options() override {
        return {{"file", &file_, "a file of conformance cases", Need::required}};
    }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto const text, read_file(file_, case_file_limit_bytes));
        DET_TRY_ASSIGN(auto const cases, config::conformance::parse_conformance_cases(text, file_));
        auto answer = Json::array();
        for (auto const& each : cases)
            answer.push_back(report(each.name, config::conformance::run_case(each), session));
        if (session.wants_json()) session.answer(Json{{"file", file_}, {"cases", std::move(answer)}});
        session.say(fmt::format("{} passed, {} failed, {} skipped", passed_, failed_, skipped_));
        return failed_ == 0 ? ExitCode::done : ExitCode::could_not;
    }

private:
    Json report(std::string const& name, CaseOutcome const& outcome, Session& session) {
        ++(outcome.verdict == Verdict::ok        ? passed_
           : outcome.verdict == Verdict::skipped ? skipped_
                                                 : failed_);
        auto const verdict = verdict_name(outcome.verdict);
        if (!session.wants_json()) {
            auto const why = outcome.why.empty() ? "" : ": " + outcome.why;
            session.out << verdict << ' ' << escape_control(name + why) << '\n';
        }
        return Json{{"name", name}, {"outcome", verdict}, {"why", outcome.why}};
    }

    std::string file_;
    int passed_ = 0;
    int failed_ = 0;
    int skipped_ = 0;
};

}  // namespace

std::unique_ptr<Command> make_config_conform() { return std::make_unique<ConfigConform>(); }

}  // namespace det::cli
