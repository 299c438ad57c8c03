#include <det/checkpoint/shared_fs_store.hpp>
#include <det/checkpoint/tensor_file.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/protocol/json.hpp>

#include <fmt/format.h>

#include "command.hpp"
#include "convert_with_python.hpp"

namespace det::cli {
namespace {

class CheckpointImport final : public Command {
public:
    std::vector<Option> options() override {
        return {{"file", &file_, "a file of tensors", Need::required},
                {"--format",
                 &format_,
                 "safetensors (default) or torch",
                 Need::optional,
                 {"safetensors", "torch"}}};
    }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto const root, experiment::find_root(session.environment));
        checkpoint::SharedFsStore store(root.checkpoints());
        DET_TRY_ASSIGN(auto const manifest,
                       format_ == "torch" ? import_by_torch(session, store) : import(session, store, file_));
        session.answer(Json{{"uuid", manifest.uuid}, {"path", store.address_of(manifest.uuid)}},
                       manifest.uuid + '\n');
        return ExitCode::done;
    }

private:
    Result<CheckpointManifest> import(Session& session, checkpoint::Store& store,
                                      std::filesystem::path const& file) const {
        Json const metadata{{"steps_completed", 0}, {"imported_from", file_}};
        return checkpoint::import_tensors(store, file, {"", 0, session.clock.now(), metadata});
    }

    Result<CheckpointManifest> import_by_torch(Session& session, checkpoint::Store& store) const {
        DET_TRY_ASSIGN(auto const directory, TemporaryDirectory::make(session.environment));
        auto const converted = directory.path() / "tensors.safetensors";
        DET_TRY(convert_with_python({"import", std::filesystem::absolute(file_).string(), converted.string()},
                                    session.environment));
        return import(session, store, converted);
    }

    std::string file_, format_ = "safetensors";
};

}  // namespace

std::unique_ptr<Command> make_checkpoint_import() { return std::make_unique<CheckpointImport>(); }

}  // namespace det::cli
