#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace det::cli {

/// Renders a manual page or an overview for people, with lines of at most `columns`: the cells of a table
/// wrap inside their columns, paragraphs and lists wrap between words, and links have no targets. Code
/// blocks, except those of the section Usage, and headings stay as they are. Pure.
/// \param page in the Markdown of these pages; a line "  NAME  SUMMARY" is a row of an overview
std::string render_page(std::string_view page, std::size_t columns);

}  // namespace det::cli
