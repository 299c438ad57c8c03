#pragma once
#include <det/experiment/template_store.hpp>

#include <string>

#include "command.hpp"

namespace det::cli {

/// The commands `template create`, `template set` and `template set-value config`. If the user already has a
/// template of that name, create fails and the others replace it; without one set-value config fails.
class TemplateFromFile final : public Command {
public:
    using Store = Result<experiment::TemplateFile> (experiment::TemplateStore::*)(
        std::string const& name, std::string_view text) const;

    TemplateFromFile(Store store, std::string_view done) : store_(store), done_(done) {}
    std::vector<Option> options() override;
    Outcome run(Session& session) override;

private:
    Store store_;
    std::string_view done_;
    std::string name_;
    std::string file_;
};

}  // namespace det::cli
