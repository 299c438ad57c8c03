#include <det/experiment/find_checkpoint.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/experiment/trusted_owner.hpp>
#include <det/foundation/count_text.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>

#include <fmt/format.h>
#include <ostream>

#include "command.hpp"

namespace det::cli {
namespace {

class CheckpointVerify final : public Command {
public:
    std::vector<Option> options() override {
        return {{"uuids", &uuids_, "the checkpoints", Need::required},
                {"--trust-owner", &trusted_owner_, "another user who may own the checkpoints"}};
    }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto const root, experiment::find_shown_root(session));
        DET_TRY_ASSIGN(auto owner, experiment::find_trusted_owner(trusted_owner_));
        if (!owner && session.foreign_root)
            owner = session.foreign_root->owner;  // it is read, and not loaded
        Diagnostics problems;
        auto answer = Json::array();
        for (auto const& uuid : uuids_) {
            auto checked = verify(root, uuid, session.environment, owner);
            Json row{{"uuid", uuid}, {"is_whole", checked.has_value()}};
            if (checked) {
                row["size_bytes"] = experiment::total_size(*checked);
                if (!session.wants_json()) session.out << whole_text(*checked);
            } else {
                row["error"] = checked.error().message;
                problems.report(std::move(checked).error());
            }
            answer.push_back(std::move(row));
        }
        if (session.wants_json()) session.answer(answer);
        if (problems.has_errors()) return problems;
        return ExitCode::done;
    }

private:
    static Result<CheckpointManifest> verify(RootLayout const& root, std::string const& uuid,
                                             Environment const& environment, std::optional<uid_t> owner) {
        DET_TRY_ASSIGN(auto const checkpoint, experiment::find_checkpoint(root, uuid, environment, owner));
        return checkpoint.store->verify_on_disk(uuid);
    }

    static std::string whole_text(CheckpointManifest const& manifest) {
        return fmt::format("{}: whole, {}, {}\n", manifest.uuid, count_text(manifest.files.size(), "file"),
                           format_size(experiment::total_size(manifest)));
    }

    std::vector<std::string> uuids_;
    std::optional<std::string> trusted_owner_;
};

}  // namespace

std::unique_ptr<Command> make_checkpoint_verify() { return std::make_unique<CheckpointVerify>(); }

}  // namespace det::cli
