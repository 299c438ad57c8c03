#include <ostream>

#include "command.hpp"
#include "root.hpp"
#include "template_store.hpp"
#include "template_text.hpp"

namespace det::cli {
namespace {

class TemplateSet final : public Command {
public:
    std::vector<Option> options() override {
        return {{"name", &name_, "the template", Need::required},
                {"file", &file_, "the YAML file that it is made of", Need::required}};
    }

    Outcome run(Session& session) override {
        auto const root = find_root(session.environment);
        if (!root) return Diagnostics(root.error());
        auto const read = read_template(file_);
        if (!read) return read.error();
        print(session.err, read->warnings, session.style);
        auto const stored = TemplateStore(*root).write(name_, read->text);
        if (!stored) return Diagnostics(stored.error());
        if (session.wants_json()) {
            session.answer(Json{{"name", stored->name}, {"path", stored->path.string()}});
        } else {
            session.out << "Set template " << stored->name << '\n';
        }
        return ExitCode::done;
    }

private:
    std::string name_;
    std::string file_;
};

}  // namespace

std::unique_ptr<Command> make_template_set() { return std::make_unique<TemplateSet>(); }

}  // namespace det::cli
