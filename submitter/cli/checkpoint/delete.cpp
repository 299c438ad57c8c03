#include <det/experiment/find_checkpoint.hpp>
#include <det/foundation/count_text.hpp>
#include <det/protocol/json.hpp>

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
                       session.confirm_removal(is_sure_, count_text(found.size(), "checkpoint")));
        if (!goes_on) return ExitCode::could_not;
        for (auto& checkpoint : found) DET_TRY(checkpoint.store->remove(checkpoint.manifest.uuid));
        session.print_confirmation(Json{{"removed", uuids_}},
                                   "Removed " + count_text(found.size(), "checkpoint"));
        return ExitCode::done;
    }

private:
    std::vector<std::string> uuids_;
    bool is_sure_ = false;
};

}  // namespace

std::unique_ptr<Command> make_checkpoint_delete() { return std::make_unique<CheckpointDelete>(); }

}  // namespace det::cli
