#include <det/checkpoint/error_exchange.hpp>
#include <det/checkpoint/sharded_upload.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <sys/stat.h>

#include "checkpoint_files.hpp"
#include "source_files.hpp"
#include "upload_plan.hpp"

namespace det::checkpoint {
namespace {

namespace fs = std::filesystem;

/// An identifier of a directory. It is equal on ranks that refer to the same directory on the same node.
/// Empty if unknown.
std::string identify(fs::path const& directory) {
    // Inode numbers are unique on one machine only.
    auto const machine = read_file("/proc/sys/kernel/random/boot_id");
    struct stat info {};
    if (!machine || ::stat(directory.c_str(), &info) != 0) return "";
    return fmt::format("{} {} {}", trim(*machine), info.st_dev, info.st_ino);
}

}  // namespace

template <>
struct Codec<Json> {
    static std::string encode(Json const& value) { return to_line(value); }
    static Result<Json> decode(std::string const& text) {
        return decode_json("a message of another rank", [&] { return parse_json(text); });
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
        SystemClock clock;
        DET_TRY_ASSIGN(target_, repeat_write(clock, store_.write_retry(),
                                             [this] { return store_.create_directory(uuid_); }));
        Json message{{"uploads", Uploads()},
                     {"metadata", upload_.metadata},
                     {"brings", upload_.directory.has_value()},
                     {"directory", ""}};
        if (!upload_.directory) return message;
        std::error_code ignored;
        is_in_place_ = fs::equivalent(*upload_.directory, target_, ignored);
        if (!upload_.selector) {
            bool const is_common = is_in_place_ && store_.has_shared_directory();
            message["directory"] = is_common ? "the checkpoint's own" : identify(*upload_.directory);
        }
        DET_TRY_ASSIGN(auto const uploads, list_sources(*upload_.directory, upload_.selector));
        message["uploads"] = uploads;
        return message;
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
        if (is_in_place_ || !upload_.directory)
            return put_sources(store_, uuid_, target_, paths, std::nullopt);
        DET_TRY(copy_sources(*upload_.directory, paths, target_, store_.write_retry()));
        return put_sources(store_, uuid_, target_, paths, upload_.directory);
    }

    /// Removes the checkpoint. If the ranks have a common directory, only the chief does so; else each rank
    /// removes its own directory and the objects in the store.
    Error clean_up(Error error) {
        if (!peers_.is_chief() && store_.has_shared_directory()) return error;
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

/// The files that each rank brings. If several ranks bring the same directory without a selector, only the
/// entry of the lowest of them has its files.
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
    std::vector<std::string> all;
    for (auto const& paths : plan) all.insert(all.end(), paths.begin(), paths.end());
    return directories_of(all);
}

Result<std::vector<std::vector<std::string>>> agree_on_files(Peers& peers, RankUpload const& own,
                                                             std::vector<Uploads> const& uploads) {
    DET_TRY_ASSIGN(auto const sums, allgather_values(peers, own.sum_shared(uploads)));
    std::vector<Uploads> ranks;
    for (auto const& sum : sums) ranks.push_back(sum.get<Uploads>());
    return plan_uploads(ranks);
}

using Uploaded = Result<std::optional<CheckpointManifest>>;

Uploaded upload_part(Peers& peers, Store& store, RankUpload& own, Store::Description const& description,
                     MayCommit const& may_commit) {
    // A rank may list the files of a common directory only after all ranks have written theirs.
    DET_TRY(agree_on_status(peers, own.readiness()));
    DET_TRY_ASSIGN(auto const lists, allgather_values(peers, own.list()));
    if (std::ranges::none_of(lists, [](auto const& list) { return list["brings"] == true; }))
        return Error{codes::misuse, "no rank has a directory to upload"};
    DET_TRY_ASSIGN(auto metadata, metadata_of(lists));
    DET_TRY_ASSIGN(auto const plan, agree_on_files(peers, own, uploads_of(lists)));
    auto const written = own.write(plan[static_cast<std::size_t>(peers.rank())]);
    DET_TRY_ASSIGN(auto const of_ranks, allgather_values(peers, written));
    std::vector<CheckpointFile> files;
    for (auto const& of_rank : of_ranks) files.insert(files.end(), of_rank.begin(), of_rank.end());
    std::optional<CheckpointManifest> manifest;
    auto const committed = [&]() -> Status {
        if (!peers.is_chief()) return Ok{};
        CheckpointManifest whole{description.uuid,     description.run,        description.steps_completed,
                                 description.time,     description.world_size, std::move(files),
                                 directories_in(plan), std::move(metadata)};
        DET_TRY_ASSIGN(manifest, commit_files(store, std::move(whole), may_commit, store.write_retry()));
        return Ok{};
    }();
    DET_TRY(agree_on_status(peers, committed));
    return manifest;
}

}  // namespace

Uploaded upload_sharded(Peers& peers, Store& store, Upload const& upload,
                        Store::Description const& description, MayCommit const& may_commit) {
    RankUpload own(peers, store, upload, description.uuid);
    auto uploaded = upload_part(peers, store, own, description, may_commit);
    if (!uploaded) return own.clean_up(std::move(uploaded).error());
    return uploaded;
}

}  // namespace det::checkpoint
