# Writes the files of FOLDER as strings into OUTPUT: cmake -DFOLDER=bundle -DOUTPUT=bundle.cpp -P embed_bundle.cmake
set(piece_size 30000)
file(GLOB names RELATIVE "${FOLDER}" "${FOLDER}/*")
list(SORT names)
set(rows "")
foreach(name IN LISTS names)
  file(READ "${FOLDER}/${name}" text)
  string(LENGTH "${text}" size)
  set(pieces "")
  set(at 0)
  while(at LESS size)
    string(SUBSTRING "${text}" ${at} ${piece_size} piece)
    string(APPEND pieces "         R\"piece(${piece})piece\",\n")
    math(EXPR at "${at} + ${piece_size}")
  endwhile()
  string(APPEND rows "        {\"${name}\",\n         {\n${pieces}         }},\n")
endforeach()
file(WRITE "${OUTPUT}" "// Made from the files of bundle/.
#include \"bundle.hpp\"

namespace det::tracker::web {

std::vector<BundleFile> const& bundle_files() {
    static std::vector<BundleFile> const files{
${rows}    };
    return files;
}

}  // namespace det::tracker::web
")
