#include "fake_spank.hpp"

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>

extern "C" {
#include <slurm/slurm.h>
#include <slurm/spank.h>
}

FakeSpank& fake_spank() {
    static FakeSpank fake;
    return fake;
}

namespace {

spank_err_t error(int code) { return static_cast<spank_err_t>(code); }

void give_argv(int* count, char*** words) {
    auto& fake = fake_spank();
    fake.argv_pointers.clear();
    for (auto& word : fake.argv) fake.argv_pointers.push_back(word.data());
    fake.argv_pointers.push_back(nullptr);
    *count = static_cast<int>(fake.argv.size());
    *words = fake.argv_pointers.data();
}

}  // namespace

extern "C" {

spank_context_t spank_context() { return static_cast<spank_context_t>(fake_spank().context); }

spank_err_t spank_option_register(spank_t, spank_option* option) {
    if (fake_spank().next_call_fails()) return error(ESPANK_ERROR);
    fake_spank().registered[option->name] = option->cb;
    fake_spank().option_values[option->name] = option->val;
    return error(ESPANK_SUCCESS);
}

spank_err_t spank_option_getopt(spank_t, spank_option* option, char** value) {
    if (fake_spank().next_call_fails()) return error(ESPANK_ERROR);
    auto const found = fake_spank().options.find(option->name);
    if (found == fake_spank().options.end()) return error(ESPANK_ERROR);
    *value = found->second ? found->second->data() : nullptr;
    return error(ESPANK_SUCCESS);
}

spank_err_t spank_getenv(spank_t, char const* name, char* buffer, int size) {
    if (fake_spank().next_call_fails()) return error(ESPANK_ERROR);
    auto const found = fake_spank().environment.find(name);
    if (found == fake_spank().environment.end()) return error(ESPANK_ENV_NOEXIST);
    std::strncpy(buffer, found->second.c_str(), static_cast<std::size_t>(size));
    return error(found->second.size() >= static_cast<std::size_t>(size) ? ESPANK_NOSPACE : ESPANK_SUCCESS);
}

spank_err_t spank_setenv(spank_t, char const* name, char const* value, int) {
    if (fake_spank().next_call_fails()) return error(ESPANK_ERROR);
    fake_spank().environment[name] = value;
    return error(ESPANK_SUCCESS);
}

spank_err_t spank_unsetenv(spank_t, char const* name) {
    if (fake_spank().next_call_fails()) return error(ESPANK_ERROR);
    return error(fake_spank().environment.erase(name) == 1 ? ESPANK_SUCCESS : ESPANK_ENV_NOEXIST);
}

spank_err_t spank_get_item(spank_t, spank_item_t item, ...) {
    if (fake_spank().next_call_fails()) return error(ESPANK_ERROR);
    va_list arguments;
    va_start(arguments, item);
    switch (item) {
        case S_JOB_ID:
            *va_arg(arguments, std::uint32_t*) = fake_spank().job_id;
            break;
        case S_JOB_STEPID:
            *va_arg(arguments, std::uint32_t*) = fake_spank().step_id;
            break;
        case S_JOB_NNODES:
            *va_arg(arguments, std::uint32_t*) =
                static_cast<std::uint32_t>(fake_spank().tasks_of_nodes.size());
            break;
        case S_TASK_ID:
            *va_arg(arguments, int*) = fake_spank().local_task;
            break;
        case S_JOB_ARGV: {
            int* const count = va_arg(arguments, int*);
            give_argv(count, va_arg(arguments, char***));
            break;
        }
        default:
            break;
    }
    va_end(arguments);
    return error(ESPANK_SUCCESS);
}

slurm_step_layout_t* slurm_job_step_layout_get(slurm_step_id_t* step) {
    auto& fake = fake_spank();
    if (step->job_id != fake.job_id || step->step_id != fake.step_id) return nullptr;
    static std::vector<std::uint16_t> counts;
    static std::vector<std::uint32_t*> tasks;
    counts.clear();
    tasks.clear();
    for (auto& node : fake.tasks_of_nodes) {
        counts.push_back(static_cast<std::uint16_t>(node.size()));
        tasks.push_back(node.data());
    }
    static slurm_step_layout_t layout;
    layout = {};
    layout.node_list = fake.nodes.data();
    layout.node_cnt = static_cast<std::uint32_t>(counts.size());
    layout.tasks = counts.data();
    layout.tids = tasks.data();
    return &layout;
}

void slurm_job_step_layout_free(slurm_step_layout_t*) {}

char const* spank_strerror(spank_err_t) { return "no"; }

void slurm_error(char const* format, ...) {
    char text[4096];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fake_spank().errors.emplace_back(text);
}
}
