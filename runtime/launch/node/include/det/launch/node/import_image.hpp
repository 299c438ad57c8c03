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
    std::chrono::milliseconds poll_interval = std::chrono::seconds(1);
    std::chrono::milliseconds renewal_interval = std::chrono::seconds(10);
    std::chrono::milliseconds lock_timeout =
        std::chrono::seconds(60);  // a lock that was not renewed for so long is removed
};

/// Makes the file unless it is there. Of all processes on all nodes, the one that has made the directory
/// FILE.lock makes the file, and renews the time of that directory; the others wait. Blocks.
/// \return The file; codes::unsafe_owner if other users own or can write it, codes::process if the command
/// fails
Result<std::filesystem::path> import_image(ImageImport const& import, ProcessRunner& runner);

}  // namespace det::launch::node
