// SPDX-License-Identifier: GPL-2.0-or-later
// It includes Slurm's headers, which are GPL-2.0-or-later.
#include "spank_host.hpp"

#include <det/protocol/task_identity.hpp>

#include <cstring>

namespace det::spank {
namespace {

constexpr std::size_t value_size_max_bytes = std::size_t{1} << 20;

Error refused(char const* call, int code) {
    return Error{codes::slurm_refused,
                 std::string(call) + " failed: " + spank_strerror(static_cast<spank_err_t>(code))};
}

}  // namespace

std::optional<std::string> Host::find_variable(std::string_view name) const {
    std::string const terminated(name);
    for (std::size_t size = 256; size <= value_size_max_bytes; size *= 4) {
        std::string value(size, '\0');
        int const code = spank_getenv(job_, terminated.c_str(), value.data(), static_cast<int>(value.size()));
        if (code == ESPANK_NOSPACE) continue;  // it was cut
        if (code != ESPANK_SUCCESS) return std::nullopt;
        value.resize(std::strlen(value.c_str()));
        return value;
    }
    return std::nullopt;
}

Status Host::set_variable(std::string const& name, std::string const& value) const {
    int const code = spank_setenv(job_, name.c_str(), value.c_str(), 1);
    if (code != ESPANK_SUCCESS) return refused("spank_setenv", code);
    return Ok{};
}

std::optional<std::uint32_t> Host::step_id() const {
    std::uint32_t step = 0;
    if (spank_get_item(job_, S_JOB_STEPID, &step) != ESPANK_SUCCESS) return std::nullopt;
    return step;
}

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 11, 0)

Status Host::put_in_front(std::string const& program) const {
    char const* words[] = {program.c_str(), "--spank"};
    int const code = spank_prepend_task_argv(job_, 2, words);
    if (code != ESPANK_SUCCESS) return refused("spank_prepend_task_argv", code);
    return Ok{};
}

#else

// Before 23.11 there is no call for it. The vector has no room for more words, but this is the task's own
// copy, in the child that will exec it: its first word can be exchanged.
Status Host::put_in_front(std::string const& program) const {
    int count = 0;
    char** words = nullptr;
    int const code = spank_get_item(job_, S_JOB_ARGV, &count, &words);
    if (code != ESPANK_SUCCESS) return refused("spank_get_item(S_JOB_ARGV)", code);
    if (count < 1 || words == nullptr || words[0] == nullptr) return Ok{};
    char* const copy = ::strdup(program.c_str());
    if (copy == nullptr) return Error{codes::internal, "out of memory"};
    DET_TRY(set_variable(variables::wrapped_command, words[0]));
    words[0] = copy;
    return Ok{};
}

#endif

}  // namespace det::spank
