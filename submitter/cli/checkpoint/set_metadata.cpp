#include <det/experiment/find_checkpoint.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/protocol/json.hpp>

#include <fmt/format.h>

#include "command.hpp"

namespace det::cli {
namespace {

class CheckpointSetMetadata final : public Command {
public:
    std::vector<Option> options() override {
        return {{"uuid", &uuid_, "the checkpoint", Need::required},
                {"metadata", &metadata_, "a JSON object", Need::required}};
    }

    Outcome run(Session& session) override {
        auto metadata = try_parse_json(metadata_);
        if (!metadata.is_object())
            return Error{codes::usage, fmt::format("'{}' is not a JSON object", metadata_),
                         "for example '{\"accuracy\": 0.9}'"};
        DET_TRY_ASSIGN(auto const root, experiment::find_root(session.environment));
        DET_TRY_ASSIGN(auto const checkpoint, experiment::find_checkpoint(root, uuid_, session.environment));
        metadata["steps_completed"] = checkpoint.manifest.steps_completed;
        DET_TRY(experiment::set_metadata(root, checkpoint, metadata, session));
        session.print_confirmation(Json{{"uuid", uuid_}, {"metadata", std::move(metadata)}},
                                   "Set metadata of checkpoint " + uuid_);
        return ExitCode::done;
    }

private:
    std::string uuid_, metadata_;
};

}  // namespace

std::unique_ptr<Command> make_checkpoint_set_metadata() { return std::make_unique<CheckpointSetMetadata>(); }

}  // namespace det::cli
