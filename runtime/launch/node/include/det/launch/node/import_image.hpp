#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/result.hpp>

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace det::launch::node {

/// A file on a shared file system that is made of a container image.
struct ImageImport {
    std::filesystem::path file;
    /// The command that makes the file of this name.
    std::function<std::vector<std::string>(std::filesystem::path const&)> command;
    Environment environment = {};
    std::optional<std::filesystem::file_time_type> not_before = {};  // an older file is made anew
    std::function<void(std::string_view)> log = [](std::string_view) {};
    std::chrono::milliseconds command_timeout = std::chrono::hours(2);
    std::chrono::milliseconds between_looks = std::chrono::seconds(1);
    std::chrono::milliseconds between_pulses = std::chrono::seconds(10);
    std::chrono::milliseconds lock_timeout = std::chrono::seconds(60);  // of a process that is gone
};

/// Makes the file unless it is there. Of many processes on many nodes one makes it, and the others wait: the
/// one that has made the directory "FILE.lock", whose time it renews. Blocks. A file that others can write or
/// have made is codes::unsafe_owner; codes::process if the command fails.
/// \return The file.
Result<std::filesystem::path> import_image(ImageImport const& import, ProcessRunner& runner);

}  // namespace det::launch::node
