#include <det/checkpoint/error_exchange.hpp>
#include <det/checkpoint/sharded_upload.hpp>
#include <det/foundation/files.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "checkpoint_files.hpp"
#include "upload_sources.hpp"

namespace det::checkpoint {
namespace {

namespace fs = std::filesystem;

}  // namespace

template <>
struct Codec<Json> {
    static std::string encode(Json const& value) { return to_line(value); }
    static Result<Json> decode(std::string const& text) {
        return decode_json("a message of another rank", [&] { return Json::parse(text); });
    }
};

namespace {

/// The work of one rank in an upload.
class RankUpload {
public:
    RankUpload(Peers& peers, Store& store, Upload const& upload, std::string uuid)
        : peers_(peers), store_(store), upload_(upload), uuid_(std::move(uuid)) {}

    /// The program's error if it could not write its files.
    Status readiness() const {
        if (upload_.trouble) return *upload_.trouble;
        return Ok{};
    }

    Result<Json> list() {
        DET_TRY_ASSIGN(target_, store_.open(uuid_));
        Json told{{"uploads", Uploads()},
                  {"metadata", upload_.metadata},
                  {"brings", upload_.directory.has_value()},
                  {"directory", ""}};
        if (!upload_.directory) return told;
        std::error_code ignored;
        is_in_place_ = fs::equivalent(*upload_.directory, target_, ignored);
        if (!upload_.selector) {
            bool const is_everybodys = is_in_place_ && store_.has_one_directory();
            told["directory"] = is_everybodys ? "the checkpoint's own" : identify(*upload_.directory);
        }
        DET_TRY_ASSIGN(auto const uploads, list_sources(*upload_.directory, upload_.selector));
        told["uploads"] = uploads;
        return told;
    }

    /// Computes the digests of files whose paths another rank also brings.
    Result<Json> sum_shared(std::vector<Uploads> const& ranks) const {
        std::map<std::string, int> holders;
        for (auto const& uploads : ranks) {
            for (auto const& [path, digest] : uploads) ++holders[path];
        }
        auto own = ranks[static_cast<std::size_t>(peers_.rank())];
        for (auto& [path, digest] : own) {
            if (holders[path] < 2 || path.ends_with('/')) continue;
            DET_TRY_ASSIGN(digest, digest_of(*upload_.directory / path));
        }
        return Json(own);
    }

    /// Copies, syncs and puts the files that this rank uploads.
    Result<std::vector<CheckpointFile>> write(std::vector<std::string> const& paths) const {
        if (!is_in_place_ && upload_.directory) DET_TRY(copy_sources(*upload_.directory, paths, target_));
        std::vector<CheckpointFile> files;
        std::vector<std::string> names;
        std::set<fs::path> directories;
        for (auto const& path : paths) {
            directories.insert((target_ / path).parent_path());
            if (path.ends_with('/')) continue;
            DET_TRY_ASSIGN(auto file, sync_and_sum(target_, path));
            names.push_back(path);
            files.push_back(std::move(file));
        }
        for (auto const& directory : directories) DET_TRY(sync_directory(directory));
        DET_TRY(store_.put(uuid_, names));
        return files;
    }

    /// Each rank cleans up its own directory; a common directory is cleaned up by the chief.
    Error clean_up(Error error) {
        if (!peers_.is_chief() && store_.has_one_directory()) return error;
        return clean_up_after(std::move(error), store_, uuid_);
    }

private:
    Peers& peers_;
    Store& store_;
    Upload const& upload_;
    std::string uuid_;
    fs::path target_ = {};
    bool is_in_place_ = false;
};

/// The files that each rank brings. If several ranks bring the same directory, the list has its files only for
/// the lowest of them.
std::vector<Uploads> uploads_of(std::vector<Json> const& lists) {
    std::vector<Uploads> ranks;
    std::set<std::string> seen;
    for (auto const& list : lists) {
        auto const directory = list["directory"].get<std::string>();
        bool const is_new = directory.empty() || seen.insert(directory).second;
        ranks.push_back(is_new ? list["uploads"].get<Uploads>() : Uploads());
    }
    return ranks;
}

Result<Json> metadata_of(std::vector<Json> const& lists) {
    std::vector<Json> metadata;
    for (auto const& list : lists) metadata.push_back(list["metadata"]);
    return merge_metadata(metadata);
}

/// The directories of the checkpoint, for its manifest.
std::vector<std::string> directories_in(std::vector<std::vector<std::string>> const& plan) {
    std::set<std::string> directories;
    for (auto const& paths : plan) {
        for (auto const& path : paths) {
            for (auto slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1))
                directories.insert(path.substr(0, slash));
        }
    }
    return {directories.begin(), directories.end()};
}

Result<std::vector<std::vector<std::string>>> agree_on_files(Peers& peers, RankUpload const& part,
                                                             std::vector<Uploads> const& uploads) {
    DET_TRY_ASSIGN(auto const sums, gather_values(peers, part.sum_shared(uploads)));
    std::vector<Uploads> ranks;
    for (auto const& sum : sums) ranks.push_back(sum.get<Uploads>());
    return plan_uploads(ranks);
}

using Uploaded = Result<std::optional<CheckpointManifest>>;

Uploaded upload_part(Peers& peers, Store& store, RankUpload& part, Store::Description const& description,
                     MayCommit const& may_commit) {
    // A rank may list the files of a common directory only after all ranks have written theirs.
    DET_TRY(share_status(peers, part.readiness()));
    DET_TRY_ASSIGN(auto const lists, gather_values(peers, part.list()));
    if (std::ranges::none_of(lists, [](auto const& list) { return list["brings"] == true; }))
        return Error{codes::misuse, "no rank has a directory to upload"};
    DET_TRY_ASSIGN(auto metadata, metadata_of(lists));
    DET_TRY_ASSIGN(auto const plan, agree_on_files(peers, part, uploads_of(lists)));
    auto const written = part.write(plan[static_cast<std::size_t>(peers.rank())]);
    DET_TRY_ASSIGN(auto const of_ranks, gather_values(peers, written));
    std::vector<CheckpointFile> files;
    for (auto const& of_rank : of_ranks) files.insert(files.end(), of_rank.begin(), of_rank.end());
    std::optional<CheckpointManifest> manifest;
    auto const committed = [&]() -> Status {
        if (!peers.is_chief()) return Ok{};
        CheckpointManifest whole{description.uuid,     description.run,        description.steps_completed,
                                 description.time,     description.world_size, std::move(files),
                                 directories_in(plan), std::move(metadata)};
        DET_TRY_ASSIGN(manifest, commit_files(store, std::move(whole), may_commit));
        return Ok{};
    }();
    DET_TRY(share_status(peers, committed));
    return manifest;
}

}  // namespace

Uploaded upload_sharded(Peers& peers, Store& store, Upload const& upload,
                        Store::Description const& description, MayCommit const& may_commit) {
    RankUpload part(peers, store, upload, description.uuid);
    auto uploaded = upload_part(peers, store, part, description, may_commit);
    if (!uploaded) return part.clean_up(std::move(uploaded).error());
    return uploaded;
}

}  // namespace det::checkpoint
