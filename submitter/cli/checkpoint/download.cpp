#include <det/experiment/find_checkpoint.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/experiment/trusted_owner.hpp>
#include <det/protocol/json.hpp>

#include <fmt/format.h>

#include "command.hpp"

namespace det::cli {
namespace {

class CheckpointDownload final : public Command {
public:
    std::vector<Option> options() override {
        return {{"uuid", &uuid_, "the checkpoint", Need::required},
                {"-o,--output-dir", &output_, "the directory for its files; default: checkpoints/UUID"},
                {"--mode",
                 &mode_,
                 "no effect: the storage is always read directly",
                 Need::optional,
                 {"auto", "direct", "master"}},
                {"-q,--quiet", &quiet_, "print only the directory of the copy; the default"},
                {"--trust-owner", &trusted_owner_, "another user who may own the checkpoint"}};
    }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto const root, experiment::find_shown_root(session));
        DET_TRY_ASSIGN(auto const owner, experiment::find_trusted_owner(trusted_owner_));
        DET_TRY_ASSIGN(auto const checkpoint,
                       experiment::find_checkpoint(root, uuid_, session.environment, owner));
        std::filesystem::path const target = output_.value_or("checkpoints/" + uuid_);
        DET_TRY(experiment::copy_checkpoint(*checkpoint.store, uuid_, target));
        session.answer(Json{{"uuid", uuid_}, {"path", std::filesystem::absolute(target).string()}},
                       target.string() + '\n');
        return ExitCode::done;
    }

private:
    std::string uuid_;
    bool quiet_ = false;
    std::optional<std::string> output_, mode_, trusted_owner_;
};

}  // namespace

std::unique_ptr<Command> make_checkpoint_download() { return std::make_unique<CheckpointDownload>(); }

}  // namespace det::cli
