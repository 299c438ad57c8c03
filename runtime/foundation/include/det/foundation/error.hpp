#pragma once
#include <det/foundation/error_codes.hpp>

#include <optional>
#include <string>
#include <vector>

namespace det {

/// A place in a user's file. Line and column count from 1, as editors do; width is in columns.
struct SourceSpan {
    std::string file;
    int line = 1;
    int column = 1;
    int width = 1;
    std::string line_text;  // the whole line, without its end

    friend bool operator==(SourceSpan const&, SourceSpan const&) = default;
};

/// Why something could not be done, and what the user can do about it.
/// message: lower case, no full stop, quotes what the user wrote in ''. hint: an instruction, can be pasted.
struct Error {
    ErrorCode code;
    std::string message;
    std::string hint = {};
    std::optional<SourceSpan> where = {};
    std::vector<std::string> notes = {};  // innermost first: what we were doing, what Slurm said

    /// Adds "while <what>": each caller on the way up may say what it was doing.
    Error&& while_doing(std::string what) &&;
    Error&& noting(std::string note) &&;

    friend bool operator==(Error const&, Error const&) = default;
};

/// An Error from errno: "cannot <what>: No space left on device". ENOENT gives `if_absent`, EACCES and EPERM
/// codes::permission, everything else codes::file_system.
Error os_error(std::string_view what, int error_number, ErrorCode if_absent = codes::no_such_file);

}  // namespace det
