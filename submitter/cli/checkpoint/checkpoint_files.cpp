#include "checkpoint/checkpoint_files.hpp"

#include <det/checkpoint/storage/open_store.hpp>
#include <det/foundation/files.hpp>
#include <det/protocol/json.hpp>
#include <det/retention/committed.hpp>
#include <det/tracker/history/journal_history.hpp>

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

Status copy_all(checkpoint::Store::Whole const& whole, fs::path const& target) {
    for (auto const& directory : whole.manifest.directories) DET_TRY(make_directories(target / directory));
    for (auto const& file : whole.manifest.files)
        DET_TRY(copy_one(whole.directory / file.path, target / file.path));
    return write_file(target / manifest_name, render_manifest(whole.manifest));
}

Status download(checkpoint::Store const& store, std::string const& uuid, fs::path const& target) {
    DET_TRY_ASSIGN(auto const whole, store.fetch_whole(uuid));
    if (target.has_parent_path()) DET_TRY(make_directories(target.parent_path()));
    DET_TRY_ASSIGN(bool const mine, make_directory(target));
    if (!mine) {
        return Error{codes::name_taken, fmt::format("'{}' is there already", target.string()),
                     "name another directory with --output-dir"};
    }
    auto copied = copy_all(whole, target);
    if (!copied) (void)remove_tree(target);
    return copied;
}

/// Stores that are asked for a checkpoint, each once.
class Search {
public:
    Search(std::string const& uuid, Environment const& environment)
        : uuid_(uuid), environment_(environment) {}

    void look(ExperimentSpec const& spec) {
        if (found_ || !seen_.insert(checkpoint::storage::place_of(spec)).second) return;
        auto store = checkpoint::storage::open_store(spec, environment_);
        if (!store) return keep(store.error());
        auto manifest = (*store)->find(uuid_);
        if (!manifest) return keep(manifest.error());
        found_ = FoundCheckpoint{*std::move(store), *std::move(manifest)};
    }

    /// Where one store could not be asked and no other has it, nobody knows.
    Result<FoundCheckpoint> result() && {
        if (found_) return *std::move(found_);
        if (trouble_) return *std::move(trouble_);
        return Error{codes::no_such_checkpoint, fmt::format("there is no checkpoint '{}'", uuid_),
                     "see 'det-submit experiment list-checkpoints ID'"};
    }

private:
    void keep(Error const& error) {
        if (error.code != codes::no_such_checkpoint && !trouble_) trouble_ = error;
    }

    std::string const& uuid_;
    Environment const& environment_;
    std::set<std::string> seen_;
    std::optional<FoundCheckpoint> found_;
    std::optional<Error> trouble_;
};

}  // namespace

Result<FoundCheckpoint> find_checkpoint(RootLayout const& root, std::string const& uuid,
                                        Environment const& environment) {
    Search search(uuid, environment);
    ExperimentSpec usual;
    usual.checkpoint_path = root.checkpoints();
    search.look(usual);
    DET_TRY_ASSIGN(auto const experiments, tracker::history::JournalHistory(root).list_experiments());
    for (auto const id : experiments) {
        if (auto const spec = retention::load_spec(ExperimentLayout(root, id))) search.look(*spec);
    }
    return std::move(search).result();
}

std::uint64_t total_size(CheckpointManifest const& manifest) {
    std::uint64_t sum = 0;
    for (auto const& file : manifest.files) sum += file.size_bytes;
    return sum;
}

Status download_and_answer(checkpoint::Store const& store, std::string const& uuid, fs::path const& target,
                           Session& session) {
    DET_TRY(download(store, uuid, target));
    if (session.wants_json()) {
        session.answer(Json{{"uuid", uuid}, {"path", fs::absolute(target).string()}});
    } else {
        session.out << target.string() << '\n';
    }
    return Ok{};
}

}  // namespace det::cli
