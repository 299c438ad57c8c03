#include <det/checkpoint/s3/s3_store.hpp>
#include <det/checkpoint/stored_manifest.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/shared_module.hpp>
#include <det/foundation/uuid.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fmt/format.h>

#include "s3_client.hpp"

namespace det::checkpoint::s3 {
namespace {

namespace fs = std::filesystem;

SystemClock system_clock;

/// A temporary directory that only this store uses. The destructor removes it.
class Staging {
public:
    static Result<Staging> make(fs::path const& below) {
        auto name = (below / "det-s3-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) return os_error(fmt::format("make '{}'", name), errno);
        return Staging(name);
    }
    Staging(Staging&& other) noexcept : path_(std::exchange(other.path_, {})) {}
    Staging& operator=(Staging&&) = delete;
    ~Staging() {
        if (!path_.empty()) static_cast<void>(remove_tree(path_));
    }
    fs::path out(std::string const& uuid) const { return path_ / "out" / uuid; }
    fs::path in(std::string const& uuid) const { return path_ / "in" / uuid; }

private:
    explicit Staging(fs::path path) : path_(std::move(path)) {}
    fs::path path_;
};

/// Normalises a prefix as Determined does: "/pre/./fix/" becomes "pre/fix/". The result is empty or ends with
/// a slash.
std::string clean_prefix(std::string const& prefix) {
    auto clean = fs::path(prefix).lexically_normal().generic_string();
    clean.erase(0, clean.find_first_not_of('/'));
    if (clean == "." || clean == "./") clean.clear();
    if (!clean.empty() && !clean.ends_with('/')) clean += '/';
    return clean;
}

class S3Store final : public checkpoint::Store {
public:
    S3Store(S3Client client, std::string address, std::string prefix, Staging staging)
        : client_(std::move(client)),
          address_(std::move(address)),
          prefix_(std::move(prefix)),
          staging_(std::move(staging)) {}

    std::string address_of(std::string const& uuid) const override { return address_ + uuid; }

    Result<fs::path> create_directory(std::string const& uuid) override {
        DET_TRY(make_directories(staging_.out(uuid)));
        return staging_.out(uuid);
    }

    bool has_shared_directory() const override { return false; }

    Status put_files(std::string const& uuid, std::span<CheckpointFile> files) override {
        for (auto& stored : files) {
            auto const file = staging_.out(uuid) / stored.path;
            DET_TRY_ASSIGN(stored.part_sha256, client_.put_file(key(uuid, stored.path), file));
            stored.sha256_part_size_bytes = client_.part_size_bytes();
            DET_TRY(remove_tree(file));  // frees space for other files
        }
        return Ok{};
    }

    Status write_manifest(CheckpointManifest const& manifest, std::string const& text,
                          checkpoint::MayCommit const& may_commit) override {
        if (std::ranges::find(manifest.files, manifest_name, &CheckpointFile::path) != manifest.files.end())
            return checkpoint::manifest_name_taken();
        DET_TRY(may_commit());
        DET_TRY(client_.put(key(manifest.uuid, manifest_name), text));
        return remove_tree(staging_.out(manifest.uuid));
    }

    Result<std::string> read_manifest_text(std::string const& uuid) const override {
        auto text = client_.get(key(uuid, manifest_name));
        if (text || text.error().code != codes::no_such_file) return text;
        return Error{codes::no_such_checkpoint, fmt::format("there is no checkpoint {} in the bucket", uuid)};
    }

    Result<fs::path> fetch(CheckpointManifest const& manifest,
                           checkpoint::Selector const& selector) const override {
        auto const directory = staging_.in(manifest.uuid);
        DET_TRY(make_directories(directory));
        for (auto const& file : manifest.files) {
            if (!selector(file.path)) continue;
            DET_TRY(make_directories((directory / file.path).parent_path()));
            auto const got = client_.get_file(key(manifest.uuid, file.path), directory / file.path);
            if (got) {
                DET_TRY(check_sums(manifest.uuid, directory, file));
                continue;
            }
            if (got.error().code != codes::no_such_file) return got.error();
            return Error{codes::checkpoint_damaged,
                         fmt::format("file '{}' of checkpoint {} is missing", file.path, manifest.uuid)};
        }
        return directory;
    }

    Result<std::vector<std::string>> list() const override {
        DET_TRY_ASSIGN(auto names, client_.list_folders(prefix_));
        std::erase_if(names, [](auto const& name) { return !is_uuid(name); });
        return names;
    }

    Status remove(std::string const& uuid) override {
        DET_TRY(checkpoint::check_uuid(uuid));
        DET_TRY(client_.remove(key(uuid, manifest_name)));
        DET_TRY_ASSIGN(auto const keys, client_.list_keys(key(uuid, "")));
        for (auto const& object : keys) DET_TRY(client_.remove(object));
        return remove_tree(staging_.out(uuid));
    }

private:
    /// Compares the parts of a fetched file with the SHA-256 sums in the manifest: a user who can write to
    /// the bucket could replace the file by one with the same CRC. Manifests of older programs have no such
    /// sums.
    static Status check_sums(std::string const& uuid, fs::path const& directory, CheckpointFile const& file) {
        if (file.sha256_part_size_bytes == 0) return Ok{};
        DET_TRY_ASSIGN(auto const sums, sum_parts(directory / file.path, file.sha256_part_size_bytes));
        if (sums == file.part_sha256) return Ok{};
        return checkpoint::damaged_error(uuid, fmt::format("the SHA-256 of '{}' does not match", file.path));
    }

    Status replace_manifest(std::string const& uuid, std::string const& text) override {
        return client_.put(key(uuid, manifest_name), text);
    }

    Status remove_file(std::string const& uuid, std::string const& path) override {
        return client_.remove(key(uuid, path));
    }

    std::string key(std::string const& uuid, std::string_view path) const {
        return fmt::format("{}{}/{}", prefix_, uuid, path);
    }

    S3Client client_;
    std::string address_;  // for messages
    std::string prefix_;   // of all keys
    Staging staging_;
};

}  // namespace

std::string render_address(std::string const& bucket, std::string const& prefix) {
    return fmt::format("s3://{}/{}", bucket, clean_prefix(prefix));
}

std::vector<fs::path> module_candidates(Environment const& environment) {
    return det::module_candidates(environment, "det_libcurl.so");
}

Result<std::unique_ptr<checkpoint::Store>> open_s3_store(Options options) {
    if (options.bucket.empty()) return Error{codes::misuse, "S3 needs the name of a bucket"};
    if (options.endpoint_url.empty())
        options.endpoint_url = fmt::format("https://s3.{}.amazonaws.com", options.region);
    DET_TRY_ASSIGN(auto const http, Http::open(options.modules));
    DET_TRY_ASSIGN(auto staging, Staging::make(options.staging));
    auto address = render_address(options.bucket, options.prefix);
    auto prefix = clean_prefix(options.prefix);
    auto& clock = options.clock != nullptr ? *options.clock : system_clock;
    return std::unique_ptr<checkpoint::Store>(
        std::make_unique<S3Store>(S3Client(http, std::move(options), clock), std::move(address),
                                  std::move(prefix), std::move(staging)));
}

}  // namespace det::checkpoint::s3
