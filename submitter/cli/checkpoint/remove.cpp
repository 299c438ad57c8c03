// The commands that remove checkpoints, or files of them.
#include <det/experiment/find_checkpoint.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/foundation/count_text.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>
#include <fnmatch.h>

#include "command.hpp"

namespace det::cli {
namespace {

/// Splits "a,b", which Determined takes, into two UUIDs.
Result<std::vector<std::string>> split_uuids(std::vector<std::string> const& words) {
    std::vector<std::string> uuids;
    for (auto const& word : words) {
        for (auto const uuid : split(word, ',')) {
            if (!uuid.empty()) uuids.emplace_back(uuid);
        }
    }
    if (uuids.empty()) return Error{codes::usage, "no checkpoint is given"};
    return uuids;
}

class CheckpointRm final : public Command {
public:
    std::vector<Option> options() override {
        return {{"uuids", &uuids_, "the checkpoints", Need::required},
                {"--glob", &globs_, "files to remove, by their path in the checkpoint"},
                {"-y,--yes", &is_sure_, "remove them without a question"}};
    }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(uuids_, split_uuids(uuids_));
        if (globs_.empty()) {
            return Error{codes::usage, "--glob is missing: it selects the files to remove",
                         "add --glob PATTERN, or remove all files with 'checkpoint delete'"};
        }
        DET_TRY_ASSIGN(auto const root, experiment::find_root(session.environment));
        DET_TRY_ASSIGN(auto found, experiment::require_removable(uuids_, session));
        std::size_t count = 0;
        for (auto const& checkpoint : found) count += matching(checkpoint).size();
        DET_TRY_ASSIGN(bool const goes_on, session.confirm_removal(is_sure_, count_text(count, "file")));
        if (!goes_on) return ExitCode::could_not;
        auto answer = Json::array();
        for (auto& checkpoint : found) {
            auto const paths = matching(checkpoint);
            DET_TRY(experiment::remove_files(root, checkpoint, paths, session));
            answer.push_back({{"uuid", checkpoint.manifest.uuid}, {"removed", paths}});
        }
        session.print_confirmation(answer, "Removed " + count_text(count, "file"));
        return ExitCode::done;
    }

private:
    bool matches(std::string const& path) const {
        return std::ranges::any_of(
            globs_, [&](auto const& glob) { return ::fnmatch(glob.c_str(), path.c_str(), FNM_PERIOD) == 0; });
    }

    std::vector<std::string> matching(experiment::FoundCheckpoint const& checkpoint) const {
        std::vector<std::string> paths;
        for (auto const& file : checkpoint.manifest.files) {
            if (matches(file.path) && file.path != metadata_name) paths.push_back(file.path);
        }
        return paths;
    }

    std::vector<std::string> uuids_, globs_;
    bool is_sure_ = false;
};

class CheckpointDelete final : public Command {
public:
    std::vector<Option> options() override {
        return {{"uuids", &uuids_, "the checkpoints", Need::required},
                {"-y,--yes", &is_sure_, "remove them without a question"}};
    }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(uuids_, split_uuids(uuids_));
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

std::unique_ptr<Command> make_checkpoint_rm() { return std::make_unique<CheckpointRm>(); }
std::unique_ptr<Command> make_checkpoint_delete() { return std::make_unique<CheckpointDelete>(); }

}  // namespace det::cli
