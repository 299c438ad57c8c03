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

/// Everything that is wrong with a file, found in one run.
class Diagnostics {
public:
    Diagnostics() = default;
    Diagnostics(Error error) { report(std::move(error)); }

    void report(Error error) { found_.push_back({Severity::error, std::move(error)}); }
    void warn(Error error) { found_.push_back({Severity::warning, std::move(error)}); }
    void append(Diagnostics other);
    /// Adds "while <what>" to each.
    Diagnostics&& while_doing(std::string const& what) &&;

    bool empty() const { return found_.empty(); }
    bool has_errors() const;
    /// By file, line and column; those without a place first.
    std::vector<Diagnostic> sorted() const;
    /// Of the first error in sorted order; done where there is none.
    ExitCode exit_code() const;

private:
    std::vector<Diagnostic> found_;
};

enum class Colour { never, always };

struct RenderStyle {
    Colour colour = Colour::never;
    std::string program = {};  // stands in for the place where an error has none: "det-submit: error: ..."
};

/// As compilers do: place: severity: message [code], the line with a caret, notes, hint. Control bytes in
/// what comes from outside are escaped, so that a file can't drive the user's terminal.
void print(std::ostream& out, Diagnostic const& diagnostic, RenderStyle const& style);
void print(std::ostream& out, Error const& error, RenderStyle const& style);
void print(std::ostream& out, Diagnostics const& diagnostics, RenderStyle const& style);

}  // namespace det
