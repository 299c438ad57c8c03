// SPDX-License-Identifier: GPL-2.0-or-later
// Part of the plugin, which includes Slurm's headers, which are GPL-2.0-or-later.
#include "srun_output.hpp"

#include <det/foundation/text.hpp>
#include <det/protocol/srun_arguments.hpp>

#include <algorithm>
#include <fcntl.h>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace det::spank {
namespace {

using FileStatus = struct stat;

std::optional<FileStatus> status_of(int descriptor) {
    FileStatus status{};
    return ::fstat(descriptor, &status) == 0 ? std::optional(status) : std::nullopt;
}

std::optional<FileStatus> status_of(std::string const& path) {
    FileStatus status{};
    return ::stat(path.c_str(), &status) == 0 ? std::optional(status) : std::nullopt;
}

bool is_same_file(FileStatus const& a, FileStatus const& b) {
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

std::string render(std::optional<FileStatus> const& file) {
    return file ? std::to_string(file->st_dev) + ":" + std::to_string(file->st_ino) : "-";
}

/// Reads a file of /proc; empty if it can't be read. Longer files are cut.
std::string read_proc(std::string const& path) {
    constexpr std::size_t size_max_bytes = std::size_t{1} << 20;
    int const file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    std::string text;
    char part[4096];
    while (file >= 0 && text.size() < size_max_bytes) {
        auto const count = ::read(file, part, sizeof part);
        if (count <= 0) break;
        text.append(part, static_cast<std::size_t>(count));
    }
    if (file >= 0) ::close(file);
    return text;
}

std::string proc_path(pid_t process, std::string_view file) {
    return "/proc/" + std::to_string(process) + "/" + std::string(file);
}

/// The parent of a process; nullopt if it can't be read. The name of a process may contain any character.
std::optional<pid_t> parent_of(pid_t process) {
    auto const text = read_proc(proc_path(process, "stat"));
    auto const name_end = text.rfind(") ");
    if (name_end == std::string::npos) return std::nullopt;
    auto const fields = split(std::string_view(text).substr(name_end + 2), ' ');  // state, parent ...
    return fields.size() > 1 ? parse_integer<pid_t>(fields[1]) : std::nullopt;
}

/// Whether the children of this process get its own pipe or file as their output: slurmstepd and the wrapper.
bool starts_tasks(pid_t process) {
    auto const name = read_proc(proc_path(process, "comm"));
    return trim(name) == "slurmstepd" || trim(name) == "det-wrap-rank";
}

/// The batch script, or the command of the task, in which srun was called; nullopt outside of jobs.
std::optional<pid_t> find_script() {
    constexpr int generations_max = 64;
    pid_t process = ::getpid();
    for (int i = 0; i < generations_max; ++i) {
        auto const parent = parent_of(process);
        if (!parent || *parent <= 1) return std::nullopt;
        if (starts_tasks(*parent)) return process;
        process = *parent;
    }
    return std::nullopt;
}

/// Whether the file is one to which the batch script of the job wrote when it began. nullopt: not known. This
/// is needed because the shell itself writes to DATA while it runs `for ...; do srun ...; done > DATA`.
std::optional<bool> is_recorded_output(FileStatus const& file, VariableLookup const& lookup) {
    auto const recorded = lookup(variables::job_output).value_or("");
    auto const words = split(recorded, ' ');
    if (words.size() != 3 || words[0] != lookup("SLURM_JOB_ID").value_or("")) return std::nullopt;
    auto const own = render(file);
    return words[1] == own || words[2] == own;
}

/// Whether the descriptor of srun is the output of the script in which srun was called.
bool is_output_of_script(int descriptor, FileStatus const& file, VariableLookup const& lookup) {
    if (S_ISREG(file.st_mode)) {
        if (auto const is_recorded = is_recorded_output(file, lookup)) return *is_recorded;
    }
    auto const script = find_script();
    if (!script) return false;
    auto const own = status_of(proc_path(*script, "fd/" + std::to_string(descriptor)));
    return !own || is_same_file(*own, file);
}

/// Whether what srun writes to the descriptor is read as data.
bool is_data(int descriptor, VariableLookup const& lookup) {
    auto const file = status_of(descriptor);
    if (!file) return false;
    bool const is_pipe = S_ISFIFO(file->st_mode) || S_ISSOCK(file->st_mode);
    return (is_pipe || S_ISREG(file->st_mode)) && !is_output_of_script(descriptor, *file, lookup);
}

SrunArguments own_arguments(VariableLookup const& lookup) {
    auto const text = read_proc("/proc/self/cmdline");
    std::vector<std::string> words;
    for (auto const word : split(text, '\0')) words.emplace_back(word);
    auto const arguments =
        std::span<std::string const>(words).subspan(std::min<std::size_t>(words.size(), 1));
    return parse_srun_arguments(arguments, lookup);
}

}  // namespace

LabelledStreams choose_labelled_streams(VariableLookup const& lookup) {
    auto const srun = own_arguments(lookup);
    bool const names_output = names_output_file(srun.output.value_or(""));
    // Without --error, standard error goes where --output says.
    bool const names_error = srun.error ? names_output_file(*srun.error) : names_output;
    return {!names_output && !is_data(STDOUT_FILENO, lookup),
            !names_error && !is_data(STDERR_FILENO, lookup)};
}

std::string render_job_output(std::string_view job_id) {
    return std::string(job_id) + " " + render(status_of(STDOUT_FILENO)) + " " +
           render(status_of(STDERR_FILENO));
}

}  // namespace det::spank
