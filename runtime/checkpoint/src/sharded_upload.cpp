#include <det/checkpoint/sharded_upload.hpp>
#include <det/checkpoint/upload_rules.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/sha256.hpp>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error_message.hpp"

namespace det::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t copy_size_bytes = std::size_t{1} << 20;

/// Reads a file piece by piece.
Status read_through(fs::path const& path, std::function<Status(std::string_view)> const& take) {
    UniqueFd const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return os_error(fmt::format("read '{}'", path.string()), errno);
    std::string piece(copy_size_bytes, '\0');
    for (;;) {
        auto const count = ::read(file.get(), piece.data(), piece.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return os_error(fmt::format("read '{}'", path.string()), errno);
        if (count == 0) return Ok{};
        DET_TRY(take(std::string_view(piece).substr(0, static_cast<std::size_t>(count))));
    }
}

Result<std::string> digest_of(fs::path const& path) {
    Sha256 sum;
    DET_TRY(read_through(path, [&](std::string_view piece) {
        sum.update(piece);
        return Status(Ok{});
    }));
    return sum.finish();
}

Status copy_whole(fs::path const& from, fs::path const& to) {
    UniqueFd file(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file) return os_error(fmt::format("create '{}'", to.string()), errno);
    DET_TRY(read_through(from,
                         [&](std::string_view piece) { return write_all(file.get(), piece, to.string()); }));
    if (::close(file.release()) != 0) return os_error(fmt::format("write '{}'", to.string()), errno);
    return Ok{};
}

/// Paths below the directory, directories with "/"; digests are empty.
Status list_below(fs::path const& root, std::string const& prefix, Selector const& selector,
                  Uploads& uploads) {
    DET_TRY_ASSIGN(auto const names, list_directory(root / prefix));
    for (auto const& name : names) {
        auto const path = prefix + name;
        struct stat info {};
        if (::stat((root / path).c_str(), &info) != 0)
            return os_error(fmt::format("read '{}'", (root / path).string()), errno);
        if (S_ISDIR(info.st_mode)) {
            if (selector(path + "/")) uploads.emplace(path + "/", "");
            DET_TRY(list_below(root, path + "/", selector, uploads));
        } else if (selector(path)) {
            uploads.emplace(path, "");
        }
    }
    return Ok{};
}

/// Every rank's value, or the error of the lowest rank that has one: the same on all.
Result<std::vector<Json>> hear_all(Peers& peers, Result<Json> const& own) {
    auto const text =
        own ? to_line(Json{{"value", *own}}) : to_line(Json{{"error", render_error(own.error())}});
    DET_TRY_ASSIGN(auto const texts, peers.allgather(text));
    std::vector<Json> values;
    for (auto const& said : texts) {
        DET_TRY_ASSIGN(auto const json, decode_json("what a rank said", [&] { return Json::parse(said); }));
        if (json.contains("error")) return parse_error(json["error"].get<std::string>());
        values.push_back(json.value("value", Json()));
    }
    return values;
}

Result<Json> list_own(Upload const& upload) {
    Uploads uploads;
    if (upload.directory) DET_TRY(list_below(*upload.directory, "", upload.selector, uploads));
    return Json{
        {"uploads", uploads}, {"metadata", upload.metadata}, {"brings", upload.directory.has_value()}};
}

/// Digests of those of its files that another rank has too.
Result<Json> sum_shared(Upload const& upload, std::vector<Json> const& lists, int rank) {
    std::map<std::string, int> holders;
    for (auto const& list : lists) {
        for (auto const& [path, digest] : list["uploads"].items()) ++holders[path];
    }
    Json own = lists[static_cast<std::size_t>(rank)]["uploads"];
    for (auto& [path, digest] : own.items()) {
        if (holders[path] < 2 || path.ends_with('/')) continue;
        DET_TRY_ASSIGN(digest, digest_of(*upload.directory / path));
    }
    return own;
}

Result<Json> copy_own(Upload const& upload, std::vector<std::string> const& paths, fs::path const& target) {
    for (auto const& path : paths) {
        auto const to = target / path;  // of "a/b/" the parent is "a/b"
        DET_TRY(make_directories(to.parent_path()));
        if (!path.ends_with('/')) DET_TRY(copy_whole(*upload.directory / path, to));
    }
    return Json();
}

Result<std::vector<std::vector<std::string>>> agree_on_files(Peers& peers, Upload const& upload,
                                                             std::vector<Json> const& lists) {
    DET_TRY_ASSIGN(auto const sums, hear_all(peers, sum_shared(upload, lists, peers.rank())));
    std::vector<Uploads> ranks;
    for (auto const& sum : sums) ranks.push_back(sum.get<Uploads>());
    return plan_uploads(ranks);
}

}  // namespace

Result<std::optional<CheckpointManifest>> upload_sharded(Peers& peers, Store& store, Upload const& upload,
                                                         Store::Description description,
                                                         MayCommit const& may_commit) {
    DET_TRY_ASSIGN(description.uuid, peers.broadcast(description.uuid));
    DET_TRY_ASSIGN(auto const lists, hear_all(peers, list_own(upload)));
    if (std::ranges::none_of(lists, [](auto const& list) { return list["brings"] == true; }))
        return Error{codes::misuse, "no rank has a directory to upload"};
    std::vector<Json> metadata;
    for (auto const& list : lists) metadata.push_back(list["metadata"]);
    DET_TRY_ASSIGN(description.metadata, merge_metadata(metadata));
    DET_TRY_ASSIGN(auto const plan, agree_on_files(peers, upload, lists));
    auto const copied = [&]() -> Result<Json> {
        DET_TRY_ASSIGN(auto const target, store.open(description.uuid));
        return copy_own(upload, plan[static_cast<std::size_t>(peers.rank())], target);
    }();
    DET_TRY(hear_all(peers, copied));
    std::optional<CheckpointManifest> manifest;
    auto const committed = [&]() -> Result<Json> {
        if (!peers.is_chief()) return Json();
        DET_TRY_ASSIGN(manifest, store.commit(description, may_commit));
        return Json();
    }();
    DET_TRY(hear_all(peers, committed));
    return manifest;
}

}  // namespace det::checkpoint
