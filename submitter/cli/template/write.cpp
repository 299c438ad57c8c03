// The commands that write a template.
#include <det/experiment/template_store.hpp>
#include <det/experiment/template_text.hpp>
#include <det/protocol/json.hpp>

#include <fmt/format.h>
#include <ostream>

#include "command.hpp"

namespace det::cli {
namespace {

using experiment::TemplateStore;

/// If the user already has a template of that name, create fails and the others replace it; without one
/// set-value config fails.
class TemplateFromFile final : public Command {
public:
    using Store = Result<experiment::TemplateFile> (TemplateStore::*)(std::string const& name,
                                                                      std::string_view text) const;

    TemplateFromFile(Store store, std::string_view done) : store_(store), done_(done) {}

    std::vector<Option> options() override {
        return {{"name", &name_, "the template", Need::required},
                {"file", &file_, "its YAML file", Need::required}};
    }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto const store, TemplateStore::open(session.environment));
        DET_TRY_ASSIGN(auto const read, experiment::read_template(file_));
        print(session.err, read.warnings, session.style);
        DET_TRY_ASSIGN(auto const stored, (store.*store_)(name_, read.text));
        session.answer(Json{{"name", stored.name}, {"path", stored.path.string()}},
                       fmt::format("{} template {}\n", done_, stored.name));
        return ExitCode::done;
    }

private:
    Store store_;
    std::string_view done_;
    std::string name_;
    std::string file_;
};

class TemplateSetValue final : public Command {
public:
    std::vector<Option> options() override {
        return {{"name", &name_, "the template", Need::required},
                {"key", &key_, "the path of the value: resources.slots_per_trial", Need::required},
                {"value", &value_, "the new value; '' removes the old one", Need::required}};
    }

    Outcome run(Session& session) override {
        if (key_.find('=') != std::string::npos)
            return Error{codes::usage, "'" + key_ + "' is not the path of a value",
                         "give KEY and VALUE as two words: resources.slots_per_trial 8"};
        DET_TRY_ASSIGN(auto const store, TemplateStore::open(session.environment));
        DET_TRY_ASSIGN(auto found, store.load(name_));
        DET_TRY_ASSIGN(auto const old,
                       experiment::check_template(std::move(found.text), found.file.path.string()));
        DET_TRY_ASSIGN(auto const text, experiment::with_value(old, key_ + "=" + value_));
        DET_TRY_ASSIGN(auto const stored, store.write(name_, text));
        if (found.file.origin != experiment::TemplateOrigin::own)
            session.say(fmt::format("'{}' is {}: the value is set in a copy of yours, {}", name_,
                                    found.file.is_shipped() ? "shipped" : "shared", stored.path.string()));
        session.answer(Json{{"name", stored.name}, {"path", stored.path.string()}},
                       fmt::format("Set template {}\n", stored.name));
        return ExitCode::done;
    }

private:
    std::string name_;
    std::string key_;
    std::string value_;
};

}  // namespace

std::unique_ptr<Command> make_template_create() {
    return std::make_unique<TemplateFromFile>(&TemplateStore::create, "Created");
}
std::unique_ptr<Command> make_template_set() {
    return std::make_unique<TemplateFromFile>(&TemplateStore::write, "Set");
}
std::unique_ptr<Command> make_template_set_value_config() {
    return std::make_unique<TemplateFromFile>(&TemplateStore::replace, "Set");
}
std::unique_ptr<Command> make_template_set_value() { return std::make_unique<TemplateSetValue>(); }

}  // namespace det::cli
