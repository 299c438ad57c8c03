#include <det/experiment/load_site.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/experiment/sharing.hpp>
#include <det/experiment/trusted_directories.hpp>
#include <det/protocol/json.hpp>

#include <fmt/format.h>

#include "command.hpp"

namespace det::cli {
namespace {

class ConfigSet final : public Command {
public:
    std::vector<Option> options() override {
        return {{"name", &name_, "sharing", Need::required},
                {"value", &value_, "private, or group: the group of the root can read new experiments",
                 Need::required}};
    }

    Outcome run(Session& session) override {
        if (name_ != "sharing")
            return Error{codes::usage, fmt::format("there is no setting '{}'", name_),
                         "the settings are: sharing"};
        auto const sharing = config::parse_sharing(value_);
        if (!sharing)
            return Error{codes::usage, fmt::format("sharing can't be '{}'", value_),
                         "it is private or group"};
        DET_TRY_ASSIGN(auto const root, experiment::find_root(session.environment));
        DET_TRY_ASSIGN(auto const site, experiment::load_site_file(session.environment));
        DET_TRY(experiment::require_trusted_root(root, experiment::trust_rules(site)));
        DET_TRY(experiment::record_sharing(root, *sharing));
        bool const is_shared = *sharing == config::Sharing::group;
        auto const group = is_shared ? experiment::find_group_of_one(root) : std::nullopt;
        if (group)
            session.warn({codes::permission, fmt::format("the group '{}' has no other members", *group),
                          fmt::format("chgrp GROUP '{}', then this command again", root.path().string())});
        auto const path = root.path().string();
        session.print_confirmation(
            Json{{"root", path}, {"sharing", to_string(*sharing)}},
            is_shared ? fmt::format("the group of '{}' can read its new experiments", escape_control(path))
                      : fmt::format("only you can read new experiments in '{}'", escape_control(path)));
        return ExitCode::done;
    }

private:
    std::string name_, value_;
};

}  // namespace

std::unique_ptr<Command> make_config_set() { return std::make_unique<ConfigSet>(); }

}  // namespace det::cli
