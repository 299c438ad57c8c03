#include <det/checkpoint/tensor_file.hpp>
#include <det/experiment/find_checkpoint.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/experiment/trusted_owner.hpp>
#include <det/foundation/files.hpp>
#include <det/protocol/json.hpp>

#include <fmt/format.h>

#include "command.hpp"
#include "convert_with_python.hpp"

namespace det::cli {
namespace {

/// Tensors in which save_state() keeps the form of a state, and those of single ranks.
bool is_internal(std::string_view name) { return name.starts_with("__"); }

class CheckpointExport final : public Command {
public:
    std::vector<Option> options() override {
        return {{"uuid", &uuid_, "the checkpoint", Need::required},
                {"file", &file_, "the file to create", Need::required},
                {"--format",
                 &format_,
                 "safetensors (default) or torch",
                 Need::optional,
                 {"safetensors", "torch"}},
                {"--prefix", &prefix_, "only what is below this name, for example model"},
                {"--trust-owner", &trusted_owner_, "another user who may own the checkpoint"}};
    }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto const root, experiment::find_shown_root(session));
        DET_TRY_ASSIGN(auto const owner, experiment::find_trusted_owner(trusted_owner_));
        DET_TRY_ASSIGN(auto const found,
                       experiment::find_checkpoint(root, uuid_, session.environment, owner));
        auto const file = std::filesystem::absolute(file_);
        if (path_exists(file))
            return Error{codes::name_taken, fmt::format("'{}' is there already", file.string())};
        DET_TRY(format_ == "torch" ? export_by_torch(found, file, session.environment)
                                   : export_tensors(found, file));
        session.answer(Json{{"uuid", uuid_}, {"path", file.string()}}, file_ + '\n');
        return ExitCode::done;
    }

private:
    Status export_tensors(experiment::FoundCheckpoint const& found, std::filesystem::path const& file) const {
        if (found.manifest.tensors.empty()) {
            return Error{codes::bad_value, fmt::format("checkpoint {} has files and no tensors", uuid_),
                         fmt::format("'det-submit checkpoint download {}' copies its files", uuid_)};
        }
        return checkpoint::export_tensors(
            *found.store, found.manifest, [this](auto const& name) { return name_in_file(name); }, file);
    }

    std::optional<std::string> name_in_file(std::string const& name) const {
        if (is_internal(name)) return std::nullopt;
        if (!prefix_) return name;
        auto const prefix = *prefix_ + ".";
        if (!name.starts_with(prefix)) return std::nullopt;
        return name.substr(prefix.size());
    }

    Status export_by_torch(experiment::FoundCheckpoint const& found, std::filesystem::path const& file,
                           Environment const& environment) const {
        DET_TRY_ASSIGN(auto const directory, TemporaryDirectory::make(environment));
        auto const copy = directory.path() / "checkpoint";
        DET_TRY(experiment::copy_checkpoint(*found.store, uuid_, copy));
        return convert_with_python({"export", copy.string(), file.string(), prefix_.value_or("")},
                                   environment);
    }

    std::string uuid_, file_, format_ = "safetensors";
    std::optional<std::string> prefix_, trusted_owner_;
};

}  // namespace

std::unique_ptr<Command> make_checkpoint_export() { return std::make_unique<CheckpointExport>(); }

}  // namespace det::cli
