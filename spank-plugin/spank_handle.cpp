// SPDX-License-Identifier: GPL-2.0-or-later
// This file includes Slurm's headers, which are GPL-2.0-or-later.
#include "spank_handle.hpp"

#include <det/protocol/host_list.hpp>
#include <det/protocol/step_run.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <slurm/slurm.h>

// srun has these functions of libslurm; null in a program that lacks them.
extern "C" {
extern __attribute__((weak)) decltype(slurm_job_step_layout_get) slurm_job_step_layout_get;
extern __attribute__((weak)) decltype(slurm_job_step_layout_free) slurm_job_step_layout_free;
}

namespace det::spank {
namespace {

bool has_rank_0(slurm_step_layout_t const& layout, std::uint32_t node) {
    auto const* const tasks = layout.tids[node];
    return std::find(tasks, tasks + layout.tasks[node], 0u) != tasks + layout.tasks[node];
}

std::optional<std::string> find_host_of_rank_0(slurm_step_layout_t const& layout) {
    auto const hosts = expand_host_list(layout.node_list == nullptr ? "" : layout.node_list);
    if (!hosts || hosts->size() != layout.node_cnt || layout.tids == nullptr || layout.tasks == nullptr)
        return std::nullopt;
    for (std::uint32_t node = 0; node < layout.node_cnt; ++node) {
        if (has_rank_0(layout, node)) return (*hosts)[node];
    }
    return std::nullopt;
}

constexpr std::size_t value_size_max_bytes = std::size_t{1} << 20;

Error spank_error(char const* call, int code) {
    return Error{codes::slurm_refused,
                 std::string(call) + " failed: " + spank_strerror(static_cast<spank_err_t>(code))};
}

template <class T>
std::optional<T> find_item(spank_t job, spank_item_t item) {
    T value{};
    if (spank_get_item(job, item, &value) != ESPANK_SUCCESS) return std::nullopt;
    return value;
}

// SPANK takes writable text and does not write to it. The index of a row is its Option.
struct OptionTexts {
    char name[16], argument[12], usage[96];
    int has_argument;  // as in getopt_long: 2 is an optional argument
};

constexpr std::array<OptionTexts, option_count> option_texts{{
    {"det", "on|env|off", "[det] set rank variables of the tasks, label their lines; --det is --det=on", 2},
    {"det-wrap", "rank|off", "[det] run each task under det-wrap-rank, or not", 1},
    {"det-log", "PATH", "[det] write the lines to PATH too; %j job, %s step, %n node, %N its name", 1},
    {"det-launch", "node|rank", "[det] what starts the ranks: a launcher, once per node, or srun (default)",
     1},
    {"det-requeue", "", "[det] the job is an experiment: queued again after a preemption or its time limit",
     0},
}};

/// The description of one option, for the duration of a call: SPANK keeps a copy.
class OptionDescription {
public:
    OptionDescription(std::size_t option, spank_opt_cb_f on_option)
        : texts_(option_texts[option]),
          described_{texts_.name,
                     texts_.argument[0] == '\0' ? nullptr : texts_.argument,
                     texts_.usage,
                     texts_.has_argument,
                     static_cast<int>(option),
                     on_option} {}
    OptionDescription(OptionDescription const&) = delete;
    OptionDescription& operator=(OptionDescription const&) = delete;

    spank_option* get() { return &described_; }

private:
    OptionTexts texts_;
    spank_option described_;
};

}  // namespace

bool SpankHandle::supports_options() {
    auto const context = spank_context();
    return context == S_CTX_LOCAL || context == S_CTX_ALLOCATOR || context == S_CTX_REMOTE;
}

Status SpankHandle::register_options(spank_opt_cb_f on_option) const {
    for (std::size_t option = 0; option < option_count; ++option) {
        int const code = spank_option_register(job_, OptionDescription(option, on_option).get());
        if (code != ESPANK_SUCCESS) return spank_error("spank_option_register", code);
    }
    return Ok{};
}

Result<PluginOptions> SpankHandle::find_options() const {
    OptionValues values;
    for (std::size_t option = 0; option < option_count; ++option) {
        char* value = nullptr;
        OptionDescription description(option, nullptr);
        if (spank_option_getopt(job_, description.get(), &value) != ESPANK_SUCCESS) continue;  // not given
        values[option] = value == nullptr ? "" : value;
    }
    return parse_options(values);
}

std::optional<std::string> SpankHandle::find_variable(std::string_view name) const {
    std::string const terminated(name);
    for (std::size_t size = 256; size <= value_size_max_bytes; size *= 4) {
        std::string value(size, '\0');
        int const code = spank_getenv(job_, terminated.c_str(), value.data(), static_cast<int>(value.size()));
        if (code == ESPANK_NOSPACE) continue;  // the value was truncated
        if (code != ESPANK_SUCCESS) return std::nullopt;
        value.resize(std::strlen(value.c_str()));
        return value;
    }
    return std::nullopt;
}

Status SpankHandle::set_variable(std::string const& name, std::string const& value) const {
    int const code = spank_setenv(job_, name.c_str(), value.c_str(), 1);
    if (code != ESPANK_SUCCESS) return spank_error("spank_setenv", code);
    return Ok{};
}

Status SpankHandle::unset_variable(char const* name) const {
    int const code = spank_unsetenv(job_, name);
    if (code != ESPANK_SUCCESS && code != ESPANK_ENV_NOEXIST) return spank_error("spank_unsetenv", code);
    return Ok{};
}

std::optional<std::string> SpankHandle::find_srun_variable(char const* name) {
    char const* const value = ::getenv(name);
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

void SpankHandle::set_srun_variable(char const* name, std::string const& value) {
    ::setenv(name, value.c_str(), 1);
}

std::optional<std::uint32_t> SpankHandle::job_id() const { return find_item<std::uint32_t>(job_, S_JOB_ID); }
std::optional<std::uint32_t> SpankHandle::step_id() const {
    return find_item<std::uint32_t>(job_, S_JOB_STEPID);
}

std::optional<std::string> SpankHandle::find_chief_host() const {
    auto const job = job_id();
    auto const step = step_id();
    auto const nodes = find_item<std::uint32_t>(job_, S_JOB_NNODES);
    if (!job || !step || nodes.value_or(1) < 2 || slurm_job_step_layout_get == nullptr) return std::nullopt;
    slurm_step_id_t id{};
    id.job_id = *job;
    id.step_id = *step;
    id.step_het_comp = NO_VAL;
    std::unique_ptr<slurm_step_layout_t, decltype(&slurm_job_step_layout_free)> const layout(
        slurm_job_step_layout_get(&id), slurm_job_step_layout_free);
    return layout ? find_host_of_rank_0(*layout) : std::nullopt;
}

std::optional<int> SpankHandle::local_task() const { return find_item<int>(job_, S_TASK_ID); }

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 11, 0)

Status SpankHandle::prepend_command(std::string const& program, char const* word) const {
    char const* words[] = {program.c_str(), word};
    int const code = spank_prepend_task_argv(job_, 2, words);
    if (code != ESPANK_SUCCESS) return spank_error("spank_prepend_task_argv", code);
    return Ok{};
}

#else

// Before 23.11 SPANK has no call that prepends a word to the command. The argument vector has no room for
// more words, but it is the task's own copy, in the child that will exec it: its first word can be replaced.
// This has no effect with --multi-prog.
Status SpankHandle::prepend_command(std::string const& program, char const*) const {
    int count = 0;
    char** words = nullptr;
    int const code = spank_get_item(job_, S_JOB_ARGV, &count, &words);
    if (code != ESPANK_SUCCESS) return spank_error("spank_get_item(S_JOB_ARGV)", code);
    if (count < 1 || words == nullptr || words[0] == nullptr) return Ok{};
    char* const copy = ::strdup(wrapper_argv0(program).c_str());
    if (copy == nullptr) return Error{codes::internal, "out of memory"};
    auto const kept = set_variable(variables::wrapped_command, words[0]);
    if (kept) {
        words[0] = copy;  // owned by Slurm from now on
    } else {
        ::free(copy);
    }
    return kept;
}

#endif

}  // namespace det::spank
