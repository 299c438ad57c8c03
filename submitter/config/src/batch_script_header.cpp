#include "batch_script_header.hpp"

#include <det/foundation/text.hpp>

#include <cctype>
#include <fmt/format.h>
#include <memory>

namespace det::config {
namespace {

constexpr std::string_view magic = "#SBATCH";

bool is_blank(char byte) { return std::isspace(static_cast<unsigned char>(byte)) != 0; }

/// True for a line that neither is empty nor a comment.
bool is_command(std::string_view line) {
    auto const text = trim(line);
    return !text.empty() && text.front() != '#';
}

/// Splits one line. sbatch does it thus: blanks separate words; quotes of either kind group; a backslash
/// takes the next byte as it is, also in quotes; a '#' outside of quotes begins a comment, also within a
/// word.
class LineSplitter {
public:
    LineSplitter(std::string_view line, std::size_t begin) : line_(line), at_(begin) {}

    struct Word {
        std::string text;
        std::size_t begin;
    };

    /// \return The next word; nothing at the end of the line, or after an unmatched quote.
    std::optional<Word> next() {
        while (at_ < line_.size() && is_blank(line_[at_])) ++at_;
        Word word{"", at_};
        bool is_escaped = false;
        while (at_ < line_.size() && (quote_ != 0 || !is_blank(line_[at_]))) {
            char const byte = line_[at_];
            if (!is_escaped && byte == '#' && quote_ == 0) {
                at_ = line_.size();
                break;
            }
            ++at_;
            if (!is_escaped && takes_as_syntax(byte, is_escaped)) continue;
            is_escaped = false;
            word.text += byte;
        }
        if (has_unmatched_quote() || word.text.empty()) return std::nullopt;
        return word;
    }

    bool has_unmatched_quote() const { return quote_ != 0; }

private:
    bool takes_as_syntax(char byte, bool& is_escaped) {
        if (byte == '\\') {
            is_escaped = true;
            return true;
        }
        if (quote_ != 0 ? byte == quote_ : byte == '"' || byte == '\'') {
            quote_ = quote_ != 0 ? '\0' : byte;
            return true;
        }
        return false;
    }

    std::string_view line_;
    std::size_t at_;
    char quote_ = 0;
};

class HeaderReader {
public:
    HeaderReader(std::string_view text, std::string const& name)
        : source_(std::make_shared<yaml::Source const>(name, std::string(text))) {
        header_.start = {source_, 1, 1, 1};
    }

    Result<BatchScriptHeader, Diagnostics> read() && {
        check_text();
        std::uint32_t number = 0;
        std::uint32_t late = 0, late_first = 0;
        bool has_begun = false;  // a command was found
        for (auto const line : split(source_->text(), '\n')) {
            ++number;
            if (!line.starts_with(magic)) {
                has_begun = has_begun || is_command(line);
            } else if (!has_begun) {
                add_words(line, number);
            } else if (late++ == 0) {
                late_first = number;
            }
        }
        if (late > 0) warn_of_late_lines(late, late_first);
        if (errors_.has_errors()) return std::move(errors_);
        return std::move(header_);
    }

private:
    yaml::Location at(std::uint32_t line, std::size_t column, std::size_t width) const {
        return {source_, line, static_cast<std::uint32_t>(column + 1), static_cast<std::uint32_t>(width)};
    }

    void check_text() {
        auto const& text = source_->text();
        if (text.find('\0') != std::string::npos)
            refuse(header_.start, "the script has NUL bytes, which sbatch refuses", "");
        if (text.find("\r\n") != std::string::npos)
            refuse(header_.start, "the script has DOS line ends, which sbatch refuses",
                   "convert it: 'dos2unix'");
        auto const first = trim(std::string_view(text).substr(0, text.find('\n')));
        if (first == "#!")
            refuse(header_.start, "the first line names no interpreter", "write for example '#!/bin/bash'");
    }

    void add_words(std::string_view line, std::uint32_t number) {
        LineSplitter splitter(line, magic.size());
        while (auto word = splitter.next()) {
            auto const where = at(number, word->begin, word->text.size());
            if (word->text == "hetjob" || word->text == "packjob") {
                refuse(
                    where, fmt::format("'{}': heterogeneous jobs are not supported", word->text),
                    "a trial is requeued as a whole, which Slurm can't do with them; submit it with sbatch");
                return;
            }
            header_.words.push_back({std::move(word->text), where});
        }
        if (splitter.has_unmatched_quote())
            refuse(at(number, 0, line.size()), "a quote in this #SBATCH line is not closed", "close it");
    }

    void warn_of_late_lines(std::uint32_t count, std::uint32_t first) {
        header_.warnings.warn(Error{
            codes::bad_value,
            count == 1
                ? std::string("this #SBATCH line has no effect: sbatch reads none after the first command")
                : fmt::format("this #SBATCH line and {} after it have no effect: sbatch reads none "
                              "after the first command",
                              count - 1),
            "move it above the first command", at(first, 0, magic.size()).span()});
    }

    void refuse(yaml::Location const& where, std::string message, std::string hint) {
        errors_.report(Error{codes::bad_value, std::move(message), std::move(hint), where.span()});
    }

    std::shared_ptr<yaml::Source const> source_;
    BatchScriptHeader header_;
    Diagnostics errors_;
};

}  // namespace

Result<BatchScriptHeader, Diagnostics> read_batch_script_header(std::string_view text,
                                                                std::string const& name) {
    return HeaderReader(text, name).read();
}

}  // namespace det::config
