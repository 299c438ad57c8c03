#pragma once
#include <det/experiment_pack/pack_directory.hpp>
#include <det/experiment_pack/pack_file.hpp>
#include <det/experiment_pack/pack_lock.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/sha256.hpp>
#include <det/protocol/directory_layout.hpp>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <random>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "check_result.hpp"
#include "temporary_directory.hpp"

namespace det::experiment_pack {

namespace fs = std::filesystem;

/// All that --unpack restores of what is at a path and below: one line for each name.
inline void list_tree(fs::path const& path, std::string const& name, std::vector<std::string>& lines) {
    struct stat info {};
    BOOST_REQUIRE_MESSAGE(::lstat(path.c_str(), &info) == 0, path.string());
    auto line = fmt::format("{} mode {:o} group {} time {}.{:09}", name, info.st_mode, info.st_gid,
                            info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
    if (S_ISLNK(info.st_mode)) line += " -> " + fs::read_symlink(path).string();
    if (S_ISREG(info.st_mode)) {
        UniqueFd const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
        Sha256 hash;
        std::string buffer(1 << 20, '\0');
        for (ssize_t count = 0; (count = ::read(file.get(), buffer.data(), buffer.size())) > 0;)
            hash.update({buffer.data(), static_cast<std::size_t>(count)});
        line += fmt::format(" size {} names {} {}", info.st_size, info.st_nlink, hash.finish());
    }
    lines.push_back(line);
    if (!S_ISDIR(info.st_mode)) return;
    for (auto const& each : must(list_directory(path))) list_tree(path / each, name + "/" + each, lines);
}

inline std::vector<std::string> list_tree(fs::path const& path) {
    std::vector<std::string> lines;
    list_tree(path, "", lines);
    return lines;
}

inline std::string random_bytes(std::size_t size) {
    std::mt19937_64 generator(7);
    std::string bytes(size, '\0');
    for (auto& byte : bytes) byte = static_cast<char>(generator());
    return bytes;
}

/// The directory of an experiment with names, modes, times and files of all kinds.
struct ExperimentTree {
    TemporaryDirectory root;
    fs::path directory = root / "experiments/7";
    journal::PackSummary summary;

    explicit ExperimentTree(std::size_t large_bytes = 3'500'000) {
        summary.experiment = {7};
        summary.spec = "the text";
        must(make_directories(directory / "trials/0/runs/0"));
        must(make_directories(directory / "trials/0/generations/0/files"));
        must(make_directories(directory / "empty"));
        write("spec.json", "the text");
        write("trials/0/runs/0/life", "records");
        write("trials/0/runs/0/node-0.log", std::string(large_bytes, 'x'));
        write("trials/0/generations/0/files/random", random_bytes(large_bytes));
        write("trials/0/generations/0/files/nothing", "");
        write("trials/0/generations/0/files/line\nbreak", "a");
        write("trials/0/generations/0/files/not-\xff-utf8 %41 \xc3\xa4", "b");
        fs::create_symlink("/etc/passwd", directory / "absolute");
        fs::create_symlink("../../..", directory / "trials/up");
        fs::create_hard_link(directory / "spec.json", directory / "trials/spec-again");
        write_sparse(large_bytes > 10'000 ? off_t{1} << 27 : off_t{1} << 20);
        BOOST_REQUIRE(::chmod((directory / "spec.json").c_str(), 0640) == 0);
        BOOST_REQUIRE(::chmod((directory / "trials/0/generations/0/files/nothing").c_str(), 0755) == 0);
        set_time("trials/0/generations/0/files/nothing", {-12'345, 678});
        set_time("absolute", {1'000'000'000, 999'999'999});
        set_time("empty", {1'100'000'000, 1});
        BOOST_REQUIRE(::chmod((directory / "empty").c_str(), 0500) == 0);
        set_time("", {1'200'000'000, 2});
    }
    ~ExperimentTree() { (void)::chmod((directory / "empty").c_str(), 0700); }

    void write(fs::path const& name, std::string_view bytes) const {
        must(write_file(directory / name, bytes));
    }
    /// A file with two places that are no holes.
    void write_sparse(off_t size_bytes) const {
        UniqueFd const file(::open((directory / "sparse").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        BOOST_REQUIRE(::ftruncate(file.get(), size_bytes) == 0);
        BOOST_REQUIRE(::pwrite(file.get(), "begin", 5, 0) == 5);
        BOOST_REQUIRE(::pwrite(file.get(), "middle", 6, size_bytes / 2 + 77) == 6);
    }
    void set_time(fs::path const& name, timespec time) const {
        timespec const times[2] = {time, time};
        auto const path = name.empty() ? directory : directory / name;
        BOOST_REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW) == 0);
    }
    fs::path pack_path() const { return directory / ExperimentLayout::pack_name; }
    Result<PackReport> pack(std::optional<fs::path> const& elsewhere = {}) const {
        DET_TRY_ASSIGN(auto const lock, PackLock::take(directory, PackLock::usual_wait));
        return pack_directory(lock, summary, elsewhere);
    }
};

}  // namespace det::experiment_pack
