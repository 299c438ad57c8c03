# Writes the pages of PAGES as strings into OUTPUT, with NAMESPACE::find_page as HEADER declares it:
# cmake -DPAGES=/x/a.md;/x/b/c.md -DFOLDER=/x -DNAMESPACE=det::cli -DHEADER=pages.hpp -DOUTPUT=pages.cpp -P embed_pages.cmake
set(rows "")
foreach(page IN LISTS PAGES)
  get_filename_component(name "${page}" NAME_WE)
  if(FOLDER)
    cmake_path(RELATIVE_PATH page BASE_DIRECTORY "${FOLDER}" OUTPUT_VARIABLE name)
    string(REGEX REPLACE "\\.md$" "" name "${name}")
  endif()
  file(READ "${page}" text)
  string(APPEND rows "    {\"${name}\", R\"page(${text})page\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "// Made from the pages beside the commands' sources.
#include \"${HEADER}\"

namespace ${NAMESPACE} {
namespace {

struct Page {
    std::string_view name, text;
};
constexpr Page pages[] = {
${rows}};

}  // namespace

std::string_view find_page(std::string_view name) {
    for (auto const& page : pages) {
        if (page.name == name) return page.text;
    }
    return {};
}

}  // namespace ${NAMESPACE}
")
