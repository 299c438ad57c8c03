#pragma once
#include <det/foundation/files.hpp>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <sys/stat.h>
#include <vector>

#include "dirty_data.hpp"

namespace det::faults {

using SteadyTime = std::chrono::steady_clock::time_point;

/// What a server changes in a directory's attributes when a name in it changes.
struct ChangeAttribute {
    std::int64_t mtime_ns = 0, ctime_ns = 0;
    bool operator==(ChangeAttribute const&) const = default;
};
ChangeAttribute change_attribute(struct stat const& attributes);

/// A file or directory of the server, with what this host has cached of it.
struct RemoteInode {
    /// A name that this host has given to a file that was removed here while it was open.
    struct HiddenName {
        UniqueFd directory;
        std::string name;
    };

    std::uint64_t id = 0;
    UniqueFd path;              // O_PATH
    std::uint64_t lookups = 0;  // by the kernel, which forgets as many
    struct stat attributes {};
    SteadyTime valid_until;  // of the attributes, and of the names while `change` is the server's
    // Of a directory: names whose inodes are known; nullptr: the name is absent.
    std::map<std::string, std::shared_ptr<RemoteInode>> names;
    ChangeAttribute change;
    // Of a regular file.
    DirtyData dirty;
    UniqueFd data;  // for reading and writing while it is open
    int open_count = 0;
    std::vector<HiddenName> hidden_names;

    bool is_directory() const { return S_ISDIR(attributes.st_mode); }
    /// A path for calls that follow symbolic links.
    std::string proc_path() const;
    /// Asks the server. Returns an errno; ESTALE: the file has been removed.
    int refresh(SteadyTime until);
    /// The attributes as processes of this host see them.
    struct stat local_attributes() const;
};

/// The inodes that this host knows.
class InodeTable {
public:
    using Pointer = std::shared_ptr<RemoteInode>;

    /// \param root a descriptor of the served directory; gets the id FUSE_ROOT_ID
    explicit InodeTable(UniqueFd root);

    /// nullptr: the kernel does not know it.
    Pointer find(std::uint64_t id) const;
    /// The inode of a file that was opened with O_PATH.
    Pointer intern(UniqueFd path);
    /// Counts a lookup of the kernel.
    void add_lookup(Pointer const& inode);
    void forget(std::uint64_t id, std::uint64_t lookups);
    /// Removes the inode from the cached names of all directories.
    void drop_names_of(Pointer const& inode);
    /// The files with data that the server does not have.
    std::vector<Pointer> dirty_files() const;

private:
    using Key = std::pair<dev_t, ino_t>;

    std::map<std::uint64_t, Pointer> by_id_;
    std::map<Key, std::weak_ptr<RemoteInode>> by_key_;
    std::uint64_t last_id_;
};

}  // namespace det::faults
