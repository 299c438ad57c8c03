#pragma once
#include <det/foundation/result.hpp>
#include <det/protocol/checkpoint_manifest.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace det::checkpoint {

/// Where to read a file from. A copy in the page cache is good enough for a reader that uses the bytes, but
/// not for a check of the disk.
enum class ReadFrom : std::uint8_t { disk, page_cache_or_disk };

/// Called right before a manifest gets its name. Fails if this process may no longer commit (fencing).
using MayCommit = std::function<Status()>;
/// Selects files by their path in the checkpoint.
using Selector = std::function<bool(std::string const& path)>;

/// A place where checkpoints are kept. A checkpoint exists if its manifest does, which lists every file with
/// its checksum; until then readers find no checkpoint. The ranks of a run write files concurrently, and one
/// rank commits.
///
/// No call is collective. All calls block until the storage has answered. Thread safety: calls for different
/// files or checkpoints may run at once. Errors of all calls: codes::no_such_checkpoint,
/// codes::checkpoint_damaged, codes::newer_format, the codes of os_error() for files, and codes::transport
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
    virtual Status put_files(std::string const& uuid, std::vector<std::string> const& paths) = 0;
    /// Adds the file `path` of checkpoint `from` to checkpoint `uuid`, without writing its bytes again. The
    /// file remains when `from` is removed.
    /// \return false if the file cannot be shared, for example because the store does not support it or
    ///     `from` no longer has the file
    virtual Result<bool> share_file(std::string const& from, std::string const& uuid,
                                    std::string const& path);
    /// Commits a checkpoint whose files are in the store: stores its manifest if `may_commit` returns Ok.
    virtual Status publish(CheckpointManifest const& manifest, MayCommit const& may_commit) = 0;
    /// Reads the manifest, but none of the files.
    /// \return codes::no_such_checkpoint if none was committed
    virtual Result<CheckpointManifest> load_manifest(std::string const& uuid) const = 0;
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

    /// Removes files from a checkpoint, and from its manifest the tensors that have a part in them. The
    /// manifest is replaced first, so that the files that it lists always exist.
    Status remove_files(std::string const& uuid, std::vector<std::string> const& paths);

private:
    Result<Whole> fetch_checked(std::string const& uuid, Selector const& selector, ReadFrom from) const;
    /// Replaces the manifest of a checkpoint that exists.
    virtual Status replace_manifest(CheckpointManifest const& manifest) = 0;
    /// Removes a file. Succeeds if the file does not exist.
    virtual Status remove_file(std::string const& uuid, std::string const& path) = 0;
};

}  // namespace det::checkpoint
