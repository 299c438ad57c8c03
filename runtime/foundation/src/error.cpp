#include <det/foundation/error.hpp>

#include <cerrno>
#include <cstring>

namespace det {

Error&& Error::while_doing(std::string what) && {
    notes.push_back("while " + std::move(what));
    return std::move(*this);
}

Error&& Error::noting(std::string note) && {
    notes.push_back(std::move(note));
    return std::move(*this);
}

Error os_error(std::string_view what, int error_number, ErrorCode if_absent) {
    auto const code = error_number == ENOENT                            ? if_absent
                      : error_number == EACCES || error_number == EPERM ? codes::permission
                                                                        : codes::file_system;
    return Error{code, "cannot " + std::string(what) + ": " + std::strerror(error_number)};
}

}  // namespace det
