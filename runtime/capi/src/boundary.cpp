#include "boundary.hpp"

#include <det/foundation/diagnostic.hpp>

#include <fmt/format.h>
#include <sstream>
#include <string>

namespace det::capi {
namespace {

struct LastError {
    std::string code, message, hint, text;
};
thread_local LastError last_error;

/// Stores an error whose texts fit std::string without an allocation, for use after std::bad_alloc.
void keep_short(char const* code, char const* message) noexcept {
    last_error.code = code;
    last_error.message = message;
    last_error.text = message;
    last_error.hint.clear();
}

}  // namespace

det_status fail(Error const& error) noexcept try {
    std::ostringstream text;
    print(text, error, {});
    last_error = {std::string(error.code.name), error.message, error.hint, std::move(text).str()};
    return to_int(error.code.exit);
} catch (...) {
    return fail_without_memory();
}

det_status fail_without_memory() noexcept {
    keep_short("internal", "out of memory");
    return DET_INTERNAL;
}

det_status fail_in_surprise(char const* what) noexcept try {
    return fail(Error{codes::internal, what, "please report this"});
} catch (...) {
    return fail_without_memory();
}

Status require(void const* pointer, std::string_view name) {
    if (pointer != nullptr) return Ok{};
    return Error{codes::misuse, fmt::format("{} is NULL", name)};
}

Status check_size(std::size_t given, std::string_view name) {
    if (given > sizeof(std::size_t)) return Ok{};
    return Error{codes::misuse, fmt::format("{}.struct_size is {}", name, given),
                 fmt::format("initialise a {} by its _INIT macro", name)};
}

Error too_new(std::string_view name) {
    return {codes::misuse,
            fmt::format("{} asks for something that this libdet, {}, does not know", name, DET_VERSION),
            "run with the libdet that the program was compiled for"};
}

}  // namespace det::capi

char const* det_version(void) { return DET_VERSION; }
char const* det_error_code(void) { return det::capi::last_error.code.c_str(); }
char const* det_error_message(void) { return det::capi::last_error.message.c_str(); }
char const* det_error_hint(void) { return det::capi::last_error.hint.c_str(); }
char const* det_error_text(void) { return det::capi::last_error.text.c_str(); }
