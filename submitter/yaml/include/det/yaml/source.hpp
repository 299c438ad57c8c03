#pragma once
#include <det/foundation/error.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace det::yaml {

/// A text and its name in messages: exp.yaml, template 'small', --config.
class Source {
public:
    Source(std::string name, std::string text);

    std::string const& name() const { return name_; }
    std::string const& text() const { return text_; }
    /// \return The line without its end; empty beyond the last line. Lines count from 1.
    std::string_view line(std::uint32_t number) const;
    /// \return The number of bytes before that line and column (both count from 1, columns in bytes).
    std::size_t offset(std::uint32_t line_number, std::uint32_t column) const;

private:
    std::string name_;
    std::string text_;
    std::vector<std::uint32_t> line_starts_;
};

/// The location at which a value begins. A default value has no source.
struct Location {
    std::shared_ptr<Source const> source = {};
    std::uint32_t line = 1;
    std::uint32_t column = 1;  // in bytes; the span counts characters, as editors do
    std::uint32_t width = 1;

    bool is_written() const { return source != nullptr; }
    std::optional<SourceSpan> span() const;
    /// "exp.yaml:14:3", for notes that name a second location.
    std::string text() const;
};

/// The location of a byte of the source.
Location location_of_byte(std::shared_ptr<Source const> source, std::size_t offset);

}  // namespace det::yaml
