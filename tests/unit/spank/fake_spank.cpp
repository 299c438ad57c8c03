#include "fake_spank.hpp"

#include <cstdarg>
#include <cstdint>
#include <cstring>

extern "C" {
#include <slurm/spank.h>
}

FakeSpank& fake_spank() {
    static FakeSpank fake;
    return fake;
}

namespace {

spank_err_t error(int code) { return static_cast<spank_err_t>(code); }

}  // namespace

extern "C" {

spank_err_t spank_getenv(spank_t, char const* name, char* buffer, int size) {
    if (fake_spank().fails) return error(ESPANK_ERROR);
    auto const found = fake_spank().environment.find(name);
    if (found == fake_spank().environment.end()) return error(ESPANK_ENV_NOEXIST);
    std::strncpy(buffer, found->second.c_str(), static_cast<std::size_t>(size));
    return error(found->second.size() >= static_cast<std::size_t>(size) ? ESPANK_NOSPACE : ESPANK_SUCCESS);
}

spank_err_t spank_setenv(spank_t, char const* name, char const* value, int) {
    if (fake_spank().fails) return error(ESPANK_ERROR);
    fake_spank().environment[name] = value;
    return error(ESPANK_SUCCESS);
}

spank_err_t spank_get_item(spank_t, spank_item_t item, ...) {
    if (fake_spank().fails) return error(ESPANK_ERROR);
    va_list arguments;
    va_start(arguments, item);
    if (item == S_JOB_STEPID) {
        *va_arg(arguments, std::uint32_t*) = fake_spank().step_id;
    } else if (item == S_JOB_ARGV) {
        auto& fake = fake_spank();
        fake.argv_pointers.clear();
        for (auto& word : fake.argv) fake.argv_pointers.push_back(word.data());
        fake.argv_pointers.push_back(nullptr);
        *va_arg(arguments, int*) = static_cast<int>(fake.argv.size());
        *va_arg(arguments, char***) = fake.argv_pointers.data();
    }
    va_end(arguments);
    return error(ESPANK_SUCCESS);
}

char const* spank_strerror(spank_err_t) { return "no"; }
}
