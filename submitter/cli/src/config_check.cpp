#include "command.hpp"
#include "load_config.hpp"
#include "root.hpp"

namespace det::cli {
namespace {

class ConfigCheck final : public Command {
public:
    std::vector<Option> options() override {
        return {{"files", &files_, "configuration files", Need::required},
                {"--template", &template_, "a configuration template to merge below each"}};
    }

    Outcome run(Session& session) override {
        auto const root = find_root(session.environment);
        if (!root) return Diagnostics(root.error());
        Diagnostics found;
        auto answer = Json::array();
        for (auto const& file : files_) {
            auto loaded = load_config({file, template_, {}}, *root, session.clock.now());
            auto const ok = loaded.has_value();
            found.append(ok ? std::move(loaded->warnings) : std::move(loaded).error());
            answer.push_back({{"file", file}, {"ok", ok}});
        }
        if (session.wants_json()) {
            session.answer(with_diagnostics(std::move(answer), found));
        } else {
            for (auto const& row : answer) {
                if (row["ok"] == true) session.out << row["file"].get<std::string>() << ": ok\n";
            }
        }
        if (found.has_errors()) return found;
        print(session.err, found, session.style);
        return ExitCode::done;
    }

private:
    static Json with_diagnostics(Json files, Diagnostics const& found) {
        auto problems = Json::array();
        for (auto const& [severity, error] : found.sorted()) {
            Json problem{{"severity", severity == Severity::error ? "error" : "warning"},
                         {"code", error.code.name},
                         {"message", error.message},
                         {"hint", error.hint}};
            if (error.where) {
                problem["file"] = error.where->file;
                problem["line"] = error.where->line;
                problem["column"] = error.where->column;
            }
            problems.push_back(std::move(problem));
        }
        return Json{{"files", std::move(files)}, {"problems", std::move(problems)}};
    }

    std::vector<std::string> files_;
    std::optional<std::string> template_;
};

}  // namespace

std::unique_ptr<Command> make_config_check() { return std::make_unique<ConfigCheck>(); }

}  // namespace det::cli
