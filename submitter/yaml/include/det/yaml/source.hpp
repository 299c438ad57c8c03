#pragma once
#include <det/foundation/error.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace det::yaml {

/// A text under the name that people know it by: exp.yaml, template 'small', --config.
class Source {
public:
    Source(std::string name, std::string text);

    std::string const& name() const { return name_; }
    std::string const& text() const { return text_; }
    /// Without its end; empty beyond the last line. Lines count from 1.
    std::string_view line(std::uint32_t number) const;
    /// How many bytes lie before that line and column (both from 1, columns in bytes).
    std::size_t offset(std::uint32_t line_number, std::uint32_t column) const;

private:
    std::string name_;
    std::string text_;
    std::vector<std::uint32_t> line_starts_;
};

/// Where a value begins. Small, because every value has one; it becomes a SourceSpan only when somebody asks.
/// Without a source the value was written nowhere: a default of ours.
struct Location {
    std::shared_ptr<Source const> source = {};
    std::uint32_t line = 1;
    std::uint32_t column = 1;  // in bytes; the span counts characters, as editors do
    std::uint32_t width = 1;

    bool is_written() const { return source != nullptr; }
    std::optional<SourceSpan> span() const;
    /// "exp.yaml:14:3", for notes that point at a second place.
    std::string text() const;
};

/// The place of a byte of the source.
Location location_of_byte(std::shared_ptr<Source const> source, std::size_t offset);

}  // namespace det::yaml
