#include "checkpoint_files.hpp"

#include <det/foundation/files.hpp>
#include <det/history/journal_history.hpp>
#include <det/retention/inventory.hpp>

#include <fmt/format.h>
#include <ostream>
#include <set>

namespace det::cli {
namespace {

namespace fs = std::filesystem;

/// Copies one file; its directories are made.
Status copy_one(fs::path const& from, fs::path const& to) {
    DET_TRY(make_directories(to.parent_path()));
    std::error_code error;
    fs::copy_file(from, to, error);
    if (error) return os_error(fmt::format("copy '{}' to '{}'", from.string(), to.string()), error.value());
    return Ok{};
}

Status copy_all(FoundCheckpoint const& checkpoint, fs::path const& target) {
    for (auto const& directory : checkpoint.manifest.directories)
        DET_TRY(make_directories(target / directory));
    for (auto const& file : checkpoint.manifest.files)
        DET_TRY(copy_one(checkpoint.path() / file.path, target / file.path));
    return copy_one(checkpoint.path() / manifest_name, target / manifest_name);
}

}  // namespace

Result<FoundCheckpoint> find_checkpoint(RootLayout const& root, std::string const& uuid) {
    std::set<fs::path> seen;
    auto const look = [&](fs::path const& path) -> Result<std::optional<FoundCheckpoint>> {
        if (!seen.insert(path).second) return std::optional<FoundCheckpoint>();
        checkpoint::SharedFsStore const store(path);
        auto manifest = store.find(uuid);
        if (manifest) return std::optional(FoundCheckpoint{store, *std::move(manifest)});
        if (manifest.error().code == codes::no_such_checkpoint) return std::optional<FoundCheckpoint>();
        return manifest.error();
    };
    DET_TRY_ASSIGN(auto found, look(root.checkpoints()));
    if (found) return *std::move(found);
    DET_TRY_ASSIGN(auto const experiments, history::JournalHistory(root).list_experiments());
    for (auto const id : experiments) {
        auto const spec = retention::load_spec(ExperimentLayout(root, id));
        if (!spec || spec->checkpoint_path.empty()) continue;
        DET_TRY_ASSIGN(auto elsewhere, look(spec->checkpoint_path));
        if (elsewhere) return *std::move(elsewhere);
    }
    return Error{codes::no_such_checkpoint, fmt::format("there is no checkpoint '{}'", uuid),
                 "see 'det-submit experiment list-checkpoints ID'"};
}

std::uint64_t total_size(CheckpointManifest const& manifest) {
    std::uint64_t sum = 0;
    for (auto const& file : manifest.files) sum += file.size_bytes;
    return sum;
}

Status download_checkpoint(FoundCheckpoint const& checkpoint, fs::path const& target) {
    DET_TRY(checkpoint.store.verify(checkpoint.manifest.uuid));
    if (target.has_parent_path()) DET_TRY(make_directories(target.parent_path()));
    DET_TRY_ASSIGN(bool const mine, make_directory(target));
    if (!mine) {
        return Error{codes::name_taken, fmt::format("'{}' is there already", target.string()),
                     "name another directory with --output-dir"};
    }
    auto copied = copy_all(checkpoint, target);
    if (!copied) (void)remove_tree(target);
    return copied;
}

Status download_and_answer(FoundCheckpoint const& checkpoint, fs::path const& target, Session& session) {
    DET_TRY(download_checkpoint(checkpoint, target));
    if (session.wants_json()) {
        session.answer(Json{{"uuid", checkpoint.manifest.uuid}, {"path", fs::absolute(target).string()}});
    } else {
        session.out << target.string() << '\n';
    }
    return Ok{};
}

}  // namespace det::cli
