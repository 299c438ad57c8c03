#include <det/yaml/source.hpp>

#include <algorithm>

namespace det::yaml {
namespace {

/// The part of a line that an error keeps. The excerpt shows at most 120 columns, and the line of a minified
/// file can be very long.
constexpr std::size_t excerpt_bytes_max = 512;

int characters_in(std::string_view text) {
    return static_cast<int>(std::count_if(
        text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string_view cut_between_characters(std::string_view line) {
    if (line.size() <= excerpt_bytes_max) return line;
    auto size = excerpt_bytes_max;
    while (size > 0 && (static_cast<unsigned char>(line[size]) & 0xc0) == 0x80) --size;
    return line.substr(0, size);
}

}  // namespace

Source::Source(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)) {
    line_starts_.push_back(0);
    for (auto end = text_.find('\n'); end != std::string::npos; end = text_.find('\n', end + 1)) {
        line_starts_.push_back(static_cast<std::uint32_t>(end + 1));
    }
}

std::string_view Source::line(std::uint32_t number) const {
    if (number == 0 || number > line_starts_.size()) return {};
    auto const start = line_starts_[number - 1];
    auto line = std::string_view(text_).substr(start);
    line = line.substr(0, line.find('\n'));
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
}

std::size_t Source::offset(std::uint32_t line_number, std::uint32_t column) const {
    if (line_number == 0 || line_number > line_starts_.size()) return text_.size();
    return std::min<std::size_t>(line_starts_[line_number - 1] + column - 1, text_.size());
}

std::optional<SourceSpan> Location::span() const {
    if (!source) return std::nullopt;
    auto const whole = source->line(line);
    auto const before = whole.substr(0, column - 1);
    auto const marked = whole.substr(before.size(), width);
    return SourceSpan{source->name(), static_cast<int>(line), characters_in(before) + 1,
                      std::max(1, characters_in(marked)), std::string(cut_between_characters(whole))};
}

std::string Location::text() const {
    if (!source) return "the defaults";
    auto const column_shown = characters_in(source->line(line).substr(0, column - 1)) + 1;
    return source->name() + ":" + std::to_string(line) + ":" + std::to_string(column_shown);
}

Location location_of_byte(std::shared_ptr<Source const> source, std::size_t offset) {
    auto const before = std::string_view(source->text()).substr(0, offset);
    auto const line = static_cast<std::uint32_t>(std::count(before.begin(), before.end(), '\n') + 1);
    auto const line_start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
    return Location{std::move(source), line, static_cast<std::uint32_t>(offset - line_start + 1), 1};
}

}  // namespace det::yaml
