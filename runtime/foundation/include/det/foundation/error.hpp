#pragma once
#include <det/foundation/error_codes.hpp>

#include <optional>
#include <string>
#include <vector>

namespace det {

/// A position in a user's file. Line and column count from 1; `width` is in columns.
struct SourceSpan {
    std::string file;
    int line = 1;
    int column = 1;
    int width = 1;
    std::string line_text;  // the whole line, without its end

    friend bool operator==(SourceSpan const&, SourceSpan const&) = default;
};

/// A failure: what happened, and what the user can do about it. `message` begins with a lower-case letter,
/// has no full stop at its end, and quotes user input in ''. `hint` is an instruction, if possible a command
/// that can be pasted. Copying, moving and destroying are functions of error.cpp: inline, they would be most
/// of the code of a function that hands errors on.
struct Error {
    Error(ErrorCode code, std::string message, std::string hint = {}, std::optional<SourceSpan> where = {},
          std::vector<std::string> notes = {});
    Error(Error const& other);
    Error(Error&& other) noexcept;
    Error& operator=(Error const& other);
    Error& operator=(Error&& other) noexcept;
    ~Error();

    ErrorCode code;
    std::string message;
    std::string hint;
    std::optional<SourceSpan> where;
    std::vector<std::string> notes;  // innermost first: "while ..." notes and output of other programs

    /// Adds the note "while <what>". Each caller may add one.
    Error&& while_doing(std::string what) &&;
    Error&& noting(std::string note) &&;

    friend bool operator==(Error const& a, Error const& b);
};

/// Makes an Error from errno: "cannot <what>: No space left on device". The code is `if_absent` for ENOENT,
/// codes::permission for EACCES and EPERM, and codes::file_system for all others.
Error os_error(std::string_view what, int error_number, ErrorCode if_absent = codes::no_such_file);

}  // namespace det
