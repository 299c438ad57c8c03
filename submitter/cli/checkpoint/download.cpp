#include <fmt/format.h>

#include "checkpoint/checkpoint_files.hpp"
#include "command.hpp"
#include "root.hpp"

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
        DET_TRY_ASSIGN(auto const root, find_root(session.environment));
        DET_TRY_ASSIGN(auto const checkpoint, find_checkpoint(root, uuid_, session.environment));
        return download_and_answer(*checkpoint.store, uuid_, output_.value_or("checkpoints/" + uuid_),
                                   session);
    }

    std::string uuid_;
    std::optional<std::string> output_;
};

}  // namespace

std::unique_ptr<Command> make_checkpoint_download() { return std::make_unique<CheckpointDownload>(); }

}  // namespace det::cli
