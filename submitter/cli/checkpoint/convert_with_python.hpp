#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/result.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace det::cli {

/// The variables with which python3 finds the package `determined` of this installation first.
Environment with_own_package(Environment environment);

/// Runs determined.exec.convert_checkpoint of this installation by the python3 in PATH, which must have
/// torch. Only torch can read and write its files.
/// \return codes::process with the last line of what Python has written, if it fails
Status convert_with_python(std::vector<std::string> const& arguments, Environment const& environment);

/// A new directory that only this user can use. The destructor removes it.
class TemporaryDirectory {
public:
    static Result<TemporaryDirectory> make(Environment const& environment);
    TemporaryDirectory(TemporaryDirectory&& other) noexcept : path_(std::exchange(other.path_, {})) {}
    TemporaryDirectory& operator=(TemporaryDirectory&&) = delete;
    ~TemporaryDirectory();

    std::filesystem::path const& path() const { return path_; }

private:
    TemporaryDirectory() = default;
    std::filesystem::path path_;
};

}  // namespace det::cli
