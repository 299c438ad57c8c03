#pragma once
#include <det/foundation/repeat_write.hpp>
#include <det/foundation/result.hpp>
#include <det/protocol/checkpoint_manifest.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <sys/types.h>
#include <vector>

namespace det::checkpoint {

/// Where to read a file from. A copy in the page cache is good enough for a reader that uses the bytes, but
/// not for a check of the disk.
enum class ReadFrom : std::uint8_t { disk, page_cache_or_disk };

/// Called right before a manifest gets its name. Fails if this process may no longer commit (fencing).
using MayCommit = std::function<Status()>;
/// Selects files by their path in the checkpoint.
using Selector = std::function<bool(std::string const& path)>;
/// Looks up what journals have recorded about a checkpoint.
/// \param run the run that wrote it, as its manifest says
/// \return the SHA-256 sums that its manifest may have; empty if no journal has recorded one
using RecordedSums =
    std::function<Result<std::vector<std::string>>(std::string const& uuid, std::string const& run)>;

/// Whether the error says that a checkpoint must not be used, but another one may be:
/// codes::checkpoint_damaged, codes::checkpoint_replaced and codes::checkpoint_not_yours.
bool is_unusable(Error const& error);

/// A place where checkpoints are kept. A checkpoint exists if its manifest does, which lists every file with
/// its checksum; until then readers find no checkpoint. The ranks of a run write files concurrently, and one
/// rank commits.
///
/// A checkpoint counts only if the run that its manifest names wrote it. The manifest must have a SHA-256
/// that a journal has recorded (set_recorded_sums()), if one is known. In a file system, no other user may be
/// able to change the checkpoint: it belongs to this user or root, or to a user named with trust_owner(). A
/// checkpoint that does not count is codes::checkpoint_replaced if a journal knows it, else
/// codes::checkpoint_not_yours.
///
/// No call is collective. All calls block until the storage has answered. Thread safety: calls for different
/// files or checkpoints may run at once, except set_recorded_sums(), expect_sum(), set_write_retry() and
/// trust_owner().
/// Errors of all calls:
/// codes::no_such_checkpoint, codes::checkpoint_damaged, codes::checkpoint_replaced,
/// codes::checkpoint_not_yours, codes::newer_format, the codes of os_error() for files, and codes::transport
/// for a server. publish() and commit() may also return codes::bad_value for the names of files, and the
/// error of MayCommit.
class Store {
public:
    virtual ~Store() = default;

    /// The path or URL of a checkpoint, for people: "s3://bucket/prefix/uuid". The checkpoint need not exist.
    virtual std::string address_of(std::string const& uuid) const = 0;
    /// The directory on this node into which files of a checkpoint are written. Creates it if it does not
    /// exist.
    virtual Result<std::filesystem::path> create_directory(std::string const& uuid) = 0;
    /// True if create_directory() gives the same directory to the ranks of all nodes; otherwise each process
    /// has its own.
    virtual bool has_shared_directory() const = 0;
    /// Puts files into the store that were written and synced in the directory of create_directory(). If each
    /// process has a directory of its own, the files are removed from it.
    /// \param files gets the SHA-256 of the parts of each file if the store computes it
    virtual Status put_files(std::string const& uuid, std::span<CheckpointFile> files) = 0;
    /// Adds the file `path` of checkpoint `from` to checkpoint `uuid`, without writing its bytes again. The
    /// file remains when `from` is removed.
    /// \return false if the file cannot be shared, for example because the store does not support it or
    ///     `from` no longer has the file
    virtual Result<bool> share_file(std::string const& from, std::string const& uuid,
                                    std::string const& path);
    /// Commits a checkpoint whose files are in the store: stores its manifest if `may_commit` returns Ok.
    /// \param manifest gets the SHA-256 of its text
    Status publish(CheckpointManifest& manifest, MayCommit const& may_commit);
    /// Stores the text of a manifest as publish() does.
    virtual Status write_manifest(CheckpointManifest const& manifest, std::string const& text,
                                  MayCommit const& may_commit) = 0;
    /// Reads the manifest, but none of the files.
    /// \return codes::no_such_checkpoint if none was committed
    Result<CheckpointManifest> load_manifest(std::string const& uuid) const;
    /// Whether this user's programs wrote a checkpoint whose manifest load_manifest() has accepted: only this
    /// user, root and the user of trust_owner() could write it, or a journal of this user has recorded it.
    Result<bool> is_own(CheckpointManifest const& manifest) const;
    /// Reads the text of a manifest. In a file system, checks the owner and mode of the directory.
    virtual Result<std::string> read_manifest_text(std::string const& uuid) const = 0;
    /// Checks what can be known about the files of a checkpoint without reading them: in a file system that
    /// the selected files exist with their sizes and belong to a trusted user. Other stores check nothing.
    /// \param selector must not be null
    virtual Status check_files(CheckpointManifest const& manifest, Selector const& selector) const;
    /// Calls check_files() for the selected files.
    /// \param selector must not be null (unlike that of download())
    /// \return a directory in which the selected files of a committed checkpoint can be read
    virtual Result<std::filesystem::path> fetch(CheckpointManifest const& manifest,
                                                Selector const& selector) const = 0;
    /// \return the UUIDs of all checkpoints, also of those that were never committed
    virtual Result<std::vector<std::string>> list() const = 0;
    /// Removes the manifest and then all other files, so that readers never find half a checkpoint. Succeeds
    /// if the checkpoint does not exist.
    virtual Status remove(std::string const& uuid) = 0;

    /// The contents of a manifest besides its files.
    struct Description {
        std::string uuid;
        std::string run;
        std::uint64_t steps_completed = 0;
        UtcTime time;
        int world_size = 1;
        JsonValue metadata;
    };
    /// Makes a checkpoint of the files that one process has written into the directory of create_directory():
    /// adds metadata.json, syncs every file, reads it once for its checksum, puts it and publishes the
    /// manifest. After an error files may remain: remove() removes them.
    /// \return codes::bad_value for symbolic links, special files, names that are not UTF-8, and a file with
    ///     the name of the manifest
    Result<CheckpointManifest> commit(Description const& description, MayCommit const& may_commit);

    /// A checkpoint whose files match its manifest, and the directory in which they can be read. With a
    /// selector, only the selected files were compared and can be read.
    struct Whole {
        CheckpointManifest manifest;
        std::filesystem::path directory;
    };
    /// Reads all files and compares them with the manifest.
    /// \return codes::checkpoint_damaged names the first file that differs
    Result<Whole> fetch_and_verify(std::string const& uuid,
                                   ReadFrom from = ReadFrom::page_cache_or_disk) const;
    /// Checks the selected files like fetch_and_verify(), and copies them into `target`. Makes this directory
    /// if it does not exist, and replaces files with the same names. Directories are selected by their path
    /// with a slash at its end.
    /// \param selector null: everything
    /// \return the manifest of the whole checkpoint
    Result<CheckpointManifest> download(std::string const& uuid, Selector const& selector,
                                        std::filesystem::path const& target) const;
    /// The same check as fetch_and_verify(), with the bytes on the disk. A file system without O_DIRECT may
    /// give bytes from the page cache instead.
    Result<CheckpointManifest> verify_on_disk(std::string const& uuid) const;

    /// Called with the SHA-256 that a manifest is going to have.
    using OnChange = std::function<Status(std::string const& manifest_sha256)>;
    /// Removes files from a checkpoint, and from its manifest the tensors that have a part in them. The
    /// manifest is replaced first, so that the files that it lists always exist.
    /// \param on_change called before the manifest is replaced, to record its SHA-256. Nothing is changed if
    /// it
    ///     fails
    Status remove_files(std::string const& uuid, std::vector<std::string> const& paths,
                        OnChange const& on_change);

    /// Replaces the metadata of a checkpoint in its manifest. Its file metadata.json stays.
    /// \param metadata a JSON object
    /// \param on_change as for remove_files()
    Status set_metadata(std::string const& uuid, JsonValue metadata, OnChange const& on_change);

    /// From now on manifests are compared with what journals have recorded.
    void set_recorded_sums(RecordedSums recorded) { recorded_ = std::move(recorded); }
    /// From now on the manifest of this checkpoint must have this SHA-256; journals are not asked for it.
    void expect_sum(std::string const& uuid, std::string manifest_sha256) {
        expected_[uuid] = std::move(manifest_sha256);
    }
    /// From now on a save whose files can't be written because of the file system is repeated: the calls that
    /// commit, Saver and upload_sharded(). Files that the program has written itself are not written again.
    void set_write_retry(WriteRetry retry) { write_retry_ = std::move(retry); }
    WriteRetry const& write_retry() const { return write_retry_; }
    /// From now on this checkpoint may belong to the other user, too.
    void trust_owner(std::string const& uuid, uid_t owner) { trusted_owners_[uuid] = owner; }

protected:
    /// The user named for the checkpoint with trust_owner().
    std::optional<uid_t> trusted_owner(std::string const& uuid) const;

private:
    /// Whether files of this store have owners, so that read_manifest_text() and check_files() refuse a
    /// checkpoint of another user.
    virtual bool checks_owners() const { return false; }
    Status change_manifest(CheckpointManifest const& changed, OnChange const& on_change);
    Result<Whole> fetch_checked(std::string const& uuid, Selector const& selector, ReadFrom from) const;
    /// The sums that journals have recorded for a manifest; empty: not known.
    Result<std::vector<std::string>> recorded_sums(std::string const& uuid, std::string const& run) const;
    /// Replaces the manifest of a checkpoint that exists.
    virtual Status replace_manifest(std::string const& uuid, std::string const& text) = 0;
    /// Removes a file. Succeeds if the file does not exist.
    virtual Status remove_file(std::string const& uuid, std::string const& path) = 0;

    WriteRetry write_retry_;
    RecordedSums recorded_;
    std::map<std::string, std::string> expected_;  // sums of manifests, by checkpoint
    std::map<std::string, uid_t> trusted_owners_;  // by checkpoint
};

}  // namespace det::checkpoint
