#include <det/foundation/diagnostic.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <ostream>
#include <sstream>
#include <tuple>

namespace det {
namespace {

constexpr std::size_t excerpt_columns_max = 120;  // limits the excerpt of a very long line

struct Palette {
    std::string_view severity, code, caret, reset;
};

Palette palette_for(Severity severity, Colour colour) {
    if (colour == Colour::never) return {"", "", "", ""};
    return {severity == Severity::error ? "\x1b[1;31m" : "\x1b[1;33m", "\x1b[2m", "\x1b[1;32m", "\x1b[0m"};
}

/// Shows each tab as one space, because a column of a SourceSpan counts a tab as one.
std::string printable_line(std::string_view line) {
    std::string out(line.substr(0, excerpt_columns_max));
    std::replace(out.begin(), out.end(), '\t', ' ');
    return escape_control(out);
}

void render_excerpt(std::ostream& out, SourceSpan const& span, Palette const& paint) {
    auto const start = static_cast<std::size_t>(std::max(span.column, 1) - 1);
    if (start >= excerpt_columns_max) return;
    auto const width =
        std::min(static_cast<std::size_t>(std::max(span.width, 1)), excerpt_columns_max - start);
    out << fmt::format("{:5} | {}\n", span.line, printable_line(span.line_text))
        << fmt::format("      | {}{}^{}{}\n", std::string(start, ' '), paint.caret,
                       std::string(width - 1, '~'), paint.reset);
}

auto sort_key(Diagnostic const& diagnostic) {
    auto const& where = diagnostic.error.where;
    return where ? std::make_tuple(1, where->file, where->line, where->column)
                 : std::make_tuple(0, std::string(), 0, 0);
}

}  // namespace

void Diagnostics::append(Diagnostics other) {
    for (auto& diagnostic : other.found_) found_.push_back(std::move(diagnostic));
}

Diagnostics&& Diagnostics::while_doing(std::string const& what) && {
    for (auto& diagnostic : found_) std::move(diagnostic.error).while_doing(what);
    return std::move(*this);
}

bool Diagnostics::has_errors() const {
    return std::any_of(found_.begin(), found_.end(),
                       [](auto const& d) { return d.severity == Severity::error; });
}

std::vector<Diagnostic> Diagnostics::sorted() const {
    auto result = found_;
    std::stable_sort(result.begin(), result.end(),
                     [](auto const& a, auto const& b) { return sort_key(a) < sort_key(b); });
    return result;
}

ExitCode Diagnostics::exit_code() const {
    for (auto const& diagnostic : sorted()) {
        if (diagnostic.severity == Severity::error) return diagnostic.error.code.exit;
    }
    return ExitCode::done;
}

void print(std::ostream& stream, Diagnostic const& diagnostic, RenderStyle const& style) {
    // One write in place of twenty: std::cerr has no buffer, and lines of several programs must not mix.
    std::ostringstream out;
    auto const& error = diagnostic.error;
    auto const paint = palette_for(diagnostic.severity, style.colour);
    if (error.where) {
        out << fmt::format("{}:{}:{}: ", escape_control(error.where->file), error.where->line,
                           error.where->column);
    } else if (!style.program.empty()) {
        out << style.program << ": ";
    }
    out << paint.severity << (diagnostic.severity == Severity::error ? "error: " : "warning: ") << paint.reset
        << escape_control(error.message) << ' ' << paint.code << '[' << error.code.name << ']' << paint.reset
        << '\n';
    if (error.where) render_excerpt(out, *error.where, paint);
    for (auto const& note : error.notes) {
        for (auto const line : split_lines(note)) out << "  note: " << escape_control(line) << '\n';
    }
    for (auto const line : split_lines(error.hint)) out << "  hint: " << escape_control(line) << '\n';
    stream << out.str();
}

void print(std::ostream& out, Error const& error, RenderStyle const& style) {
    print(out, Diagnostic{Severity::error, error}, style);
}

void print(std::ostream& out, Diagnostics const& diagnostics, RenderStyle const& style) {
    for (auto const& diagnostic : diagnostics.sorted()) print(out, diagnostic, style);
}

}  // namespace det
