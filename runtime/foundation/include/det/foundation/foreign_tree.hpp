#pragma once
#include <det/foundation/result.hpp>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <sys/stat.h>
#include <sys/types.h>

// Reads a tree of files that another user has written, which may be hostile: links, fifos, large files.
namespace det {

/// As long as it exists, the functions that read files and list directories take what is below a path from
/// one other user: files.hpp and trusted_file.hpp accept files and directories there that belong to him or to
/// root, follow no symbolic link, and read at most foreign_file_limit_bytes of a file. Other paths are read
/// as before. It holds for all threads of the process, because a command reads by many functions in several
/// threads and each of them must keep to the rule.
class ForeignTree {
public:
    /// \param path absolute, as the paths that are read begin
    ForeignTree(std::filesystem::path path, uid_t owner);
    ~ForeignTree();
    ForeignTree(ForeignTree const&) = delete;
    ForeignTree& operator=(ForeignTree const&) = delete;

private:
    std::filesystem::path path_;
    uid_t owner_;
};

inline constexpr std::size_t foreign_file_limit_bytes = std::size_t{96} << 20;  // an archive of code fits
inline constexpr std::size_t foreign_names_max = 100'000;                       // in a directory

/// The owner of the tree to which a path belongs; nullopt if it is in no ForeignTree.
std::optional<uid_t> foreign_owner_of(std::filesystem::path const& path);

/// codes::unsafe_owner if an open file or directory of a tree does not belong to the owner of the tree or to
/// root.
Status check_foreign_owner(struct stat const& info, std::filesystem::path const& path, uid_t owner);

}  // namespace det
