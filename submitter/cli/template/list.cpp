#include <det/experiment/template_store.hpp>
#include <det/experiment/template_text.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>
#include <det/yaml/render.hpp>

#include <ostream>

#include "command.hpp"
#include "output/table.hpp"

namespace det::cli {
namespace {

class TemplateList final : public Command {
public:
    std::vector<Option> options() override {
        return {{"-d,--details", &details_, "print their contents too"}};
    }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto const store, experiment::TemplateStore::open(session.environment));
        DET_TRY_ASSIGN(auto const files, store.list());
        std::vector<Row> rows;
        for (auto const& file : files)
            rows.push_back({file, details_ ? contents_of(file, store, session) : std::nullopt});
        if (session.wants_json()) {
            session.answer(as_json(rows));
        } else {
            session.out << as_table(rows, answer_style_of(session));
        }
        return ExitCode::done;
    }

private:
    struct Row {
        experiment::TemplateFile file;
        std::optional<experiment::CheckedTemplate> contents;
    };

    /// Loads and checks a template. If it can't be read or is invalid, warns and returns nothing.
    static std::optional<experiment::CheckedTemplate> contents_of(experiment::TemplateFile const& file,
                                                                  experiment::TemplateStore const& store,
                                                                  Session& session) {
        auto loaded = store.load(file.name);
        auto contents =
            loaded ? experiment::check_template(std::move(loaded->text), file.path.string())
                   : Result<experiment::CheckedTemplate, Diagnostics>(Diagnostics(std::move(loaded).error()));
        if (contents) return *std::move(contents);
        for (auto const& [severity, error] : contents.error().sorted()) session.warn(error);
        return std::nullopt;
    }

    static Json as_json(std::vector<Row> const& rows) {
        auto answer = Json::array();
        for (auto const& [file, contents] : rows) {
            Json json{{"name", file.name}, {"path", file.path.string()}, {"shipped", file.is_shipped()}};
            if (contents) json["config"] = yaml::to_json(config::mask_secrets(contents->document));
            answer.push_back(std::move(json));
        }
        return answer;
    }

    std::string as_table(std::vector<Row> const& rows, AnswerStyle const& style) const {
        Table table(details_ ? std::vector<std::string>{"Name", "From", "Config"}
                             : std::vector<std::string>{"Name", "From"});
        for (auto const& [file, contents] : rows) {
            std::vector<std::string> first{file.name, file.is_shipped() ? "shipped" : file.path.string()};
            if (!details_) {
                table.add(std::move(first));
                continue;
            }
            auto const text = contents ? experiment::shown_text(*contents) : "";
            for (auto const line : text.empty() ? std::vector<std::string_view>{""} : split_lines(text)) {
                first.emplace_back(line);
                table.add(std::move(first));
                first = {"", ""};
            }
        }
        return table.render(style);
    }

    bool details_ = false;
};

}  // namespace

std::unique_ptr<Command> make_template_list() { return std::make_unique<TemplateList>(); }

}  // namespace det::cli
