#include <det/foundation/error.hpp>

#include <cerrno>
#include <cstring>

namespace det {

Error::Error(ErrorCode code_, std::string message_, std::string hint_, std::optional<SourceSpan> where_,
             std::vector<std::string> notes_)
    : code(code_),
      message(std::move(message_)),
      hint(std::move(hint_)),
      where(std::move(where_)),
      notes(std::move(notes_)) {}
Error::Error(Error const& other) = default;
Error::Error(Error&& other) noexcept = default;
Error& Error::operator=(Error const& other) = default;
Error& Error::operator=(Error&& other) noexcept = default;
Error::~Error() = default;

bool operator==(Error const& a, Error const& b) {
    return a.code == b.code && a.message == b.message && a.hint == b.hint && a.where == b.where &&
           a.notes == b.notes;
}

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
