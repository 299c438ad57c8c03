#include <det/experiment/find_checkpoint.hpp>
#include <det/experiment/root.hpp>

#include <fmt/format.h>

#include "checkpoint/download_checkpoint.hpp"
#include "command.hpp"

namespace det::cli {
namespace {

class CheckpointDownload final : public Command {
public:
    std::vector<Option> options() override {
        return {{"uuid", &uuid_, "the checkpoint", Need::required},
                {"-o,--output-dir", &output_, "where to; default: checkpoints/UUID here"}};
    }

    Outcome run(Session& session) override {
        DET_TRY(download(session));
        return ExitCode::done;
    }

private:
    Status download(Session& session) const {
        DET_TRY_ASSIGN(auto const root, experiment::find_root(session.environment));
        DET_TRY_ASSIGN(auto const checkpoint, experiment::find_checkpoint(root, uuid_, session.environment));
        return download_checkpoint(*checkpoint.store, uuid_, output_.value_or("checkpoints/" + uuid_),
                                   session);
    }

    std::string uuid_;
    std::optional<std::string> output_;
};

}  // namespace

std::unique_ptr<Command> make_checkpoint_download() { return std::make_unique<CheckpointDownload>(); }

}  // namespace det::cli
