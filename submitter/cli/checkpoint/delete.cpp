#include <det/experiment/find_checkpoint.hpp>
#include <det/protocol/json.hpp>

#include <fmt/format.h>

#include "command.hpp"

namespace det::cli {
namespace {

class CheckpointDelete final : public Command {
public:
    std::vector<Option> options() override {
        return {{"uuids", &uuids_, "the checkpoints", Need::required},
                {"-y,--yes", &is_sure_, "remove them without a question"}};
    }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto found, experiment::require_removable(uuids_, session));
        DET_TRY_ASSIGN(bool const goes_on,
                       session.confirm_removal(is_sure_, fmt::format("{} checkpoints", found.size())));
        if (!goes_on) return ExitCode::could_not;
        for (auto& checkpoint : found) DET_TRY(checkpoint.store->remove(checkpoint.manifest.uuid));
        session.print_confirmation(Json{{"removed", uuids_}},
                                   fmt::format("Removed {} checkpoints", found.size()));
        return ExitCode::done;
    }

private:
    std::vector<std::string> uuids_;
    bool is_sure_ = false;
};

}  // namespace

std::unique_ptr<Command> make_checkpoint_delete() { return std::make_unique<CheckpointDelete>(); }

}  // namespace det::cli
