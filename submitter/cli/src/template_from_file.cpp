#include <ostream>

#include "command.hpp"
#include "root.hpp"
#include "template_store.hpp"
#include "template_text.hpp"

namespace det::cli {
namespace {

/// `template create` and `template set`: they differ in what a name that is taken means.
class TemplateFromFile final : public Command {
public:
    using Store = Result<TemplateFile> (TemplateStore::*)(std::string const& name,
                                                          std::string_view text) const;

    TemplateFromFile(Store store, std::string_view done) : store_(store), done_(done) {}

    std::vector<Option> options() override {
        return {{"name", &name_, "the template", Need::required},
                {"file", &file_, "the YAML file that it is made of", Need::required}};
    }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto const root, find_root(session.environment));
        DET_TRY_ASSIGN(auto const read, read_template(file_));
        print(session.err, read.warnings, session.style);
        DET_TRY_ASSIGN(auto const stored, (TemplateStore(root).*store_)(name_, read.text));
        if (session.wants_json()) {
            session.answer(Json{{"name", stored.name}, {"path", stored.path.string()}});
        } else {
            session.out << done_ << " template " << stored.name << '\n';
        }
        return ExitCode::done;
    }

private:
    Store store_;
    std::string_view done_;
    std::string name_;
    std::string file_;
};

}  // namespace

std::unique_ptr<Command> make_template_create() {
    return std::make_unique<TemplateFromFile>(&TemplateStore::create, "Created");
}

std::unique_ptr<Command> make_template_set() {
    return std::make_unique<TemplateFromFile>(&TemplateStore::write, "Set");
}

}  // namespace det::cli
