#pragma once
#include <det/foundation/error.hpp>

#include <iosfwd>
#include <string>
#include <vector>

namespace det {

enum class Severity { error, warning };

struct Diagnostic {
    Severity severity;
    Error error;
};

/// All errors and warnings of one operation, for example of reading one file.
class Diagnostics {
public:
    Diagnostics() = default;
    Diagnostics(Error error) { report(std::move(error)); }

    void report(Error error) { found_.push_back({Severity::error, std::move(error)}); }
    void warn(Error error) { found_.push_back({Severity::warning, std::move(error)}); }
    void append(Diagnostics other);
    /// Adds the note "while <what>" to each diagnostic.
    Diagnostics&& while_doing(std::string const& what) &&;

    bool empty() const { return found_.empty(); }
    bool has_errors() const;
    /// Sorted by file, line and column. Diagnostics without a position come first.
    std::vector<Diagnostic> sorted() const;
    /// The exit code of the first error in sorted order, or ExitCode::done without errors.
    ExitCode exit_code() const;

private:
    std::vector<Diagnostic> found_;
};

enum class Colour { never, always };

struct RenderStyle {
    Colour colour = Colour::never;
    std::string program = {};  // printed before a diagnostic without a position: "det-submit: error: ..."
};

/// Prints as compilers do: "file:line:column: severity: message [code]", the line with a caret, notes, hint.
/// The line is left out if the error is beyond its first 120 columns.
/// Control bytes in foreign text are escaped, so that a file can't control the user's terminal.
void print(std::ostream& out, Diagnostic const& diagnostic, RenderStyle const& style);
void print(std::ostream& out, Error const& error, RenderStyle const& style);
void print(std::ostream& out, Diagnostics const& diagnostics, RenderStyle const& style);

}  // namespace det
