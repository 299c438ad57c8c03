# The standard headers and {fmt} that most sources use, compiled once for all modules. The preset `headers` turns this off,
# so that a source that does not include a header which it uses does not compile.
if(DET_PRECOMPILE)
  file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/precompiled.cpp" CONTENT "")
  add_library(det_precompiled OBJECT "${PROJECT_BINARY_DIR}/precompiled.cpp")
  target_link_libraries(det_precompiled PRIVATE det_compile_options fmt::fmt)
  target_precompile_headers(det_precompiled PRIVATE
    <algorithm> <chrono> <cstdint> <filesystem> <functional> <memory> <optional> <span> <string> <string_view>
    <utility> <variant> <vector> <fmt/format.h>)
endif()

# Gives a target the precompiled headers of the modules: C++, position independent (as in libraries; CMake would compile
# programs with -fPIE).
function(det_precompile target)
  if(DET_PRECOMPILE)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "EXECUTABLE")
      set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
      target_compile_options(${target} PRIVATE -fPIC)
    endif()
    target_link_libraries(${target} PRIVATE fmt::fmt)
    target_precompile_headers(${target} REUSE_FROM det_precompiled)
  endif()
endfunction()

# Declares the public headers of a target, which are below its folder include/. CMake 3.23 and newer have header sets (FILE_SET):
# CMake installs the headers with the target, and the preset `headers` compiles each header alone.
set(DET_HEADER_SET "")
if(CMAKE_VERSION VERSION_GREATER_EQUAL 3.23)
  set(DET_HEADER_SET FILE_SET HEADERS COMPONENT devel)
endif()
function(det_public_headers target)
  if(NOT ARGN)
    return()
  endif()
  if(DET_HEADER_SET)
    target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS include FILES ${ARGN})
  else()
    target_include_directories(${target} PUBLIC "$<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>"
      "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  endif()
endfunction()

# Installs the public headers of targets where install(TARGETS ... ${DET_HEADER_SET}) does not.
function(det_install_headers)
  if(DET_HEADER_SET)
    return()
  endif()
  foreach(target IN LISTS ARGN)
    get_target_property(folder ${target} SOURCE_DIR)
    install(DIRECTORY "${folder}/include/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT devel
      FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
  endforeach()
endfunction()

# A module is a static library det_<name> (alias det::<name>) with its own include root: including a header of a module
# that it does not link is a compile error.
#
#   det_module(journal SOURCES src/frame.cpp src/reader.cpp LINKS det::protocol PRIVATE_LINKS fmt::fmt)
function(det_module name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/include/*.hpp"
    "${CMAKE_CURRENT_SOURCE_DIR}/include/*.h")
  add_library(det_${name} STATIC ${ARG_SOURCES})
  add_library(det::${name} ALIAS det_${name})
  det_public_headers(det_${name} ${headers})
  target_link_libraries(det_${name} PUBLIC ${ARG_LINKS} PRIVATE
    $<BUILD_INTERFACE:det_compile_options> ${ARG_PRIVATE_LINKS})
  det_precompile(det_${name})
  set_property(GLOBAL APPEND PROPERTY DET_MODULES ${name})
endfunction()

# A program: det_program(det-launch COMPONENT submitter SOURCES src/main.cpp LINKS det::launch). The component that it is installed
# with is `runtime` where none is named.
function(det_program name)
  cmake_parse_arguments(ARG "NOT_INSTALLED" "COMPONENT" "SOURCES;LINKS" ${ARGN})
  if(NOT ARG_COMPONENT)
    set(ARG_COMPONENT runtime)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE det_compile_options ${ARG_LINKS})
  if(NOT ARG_NOT_INSTALLED)
    install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT ${ARG_COMPONENT})
  endif()
  set_property(GLOBAL APPEND PROPERTY DET_PROGRAMS ${name})
endfunction()

# Writes the manual pages of commands into a source file: det_embed_pages(SOURCE NAMESPACE det::cli HEADER pages.hpp
# PAGES dump.md job/list.md FOLDER .). A page is found by its path below FOLDER ("job/list"), or without FOLDER by its name ("list").
set(DET_EMBED_PAGES "${CMAKE_CURRENT_LIST_DIR}/embed_pages.cmake")
function(det_embed_pages variable)
  cmake_parse_arguments(ARG "" "NAMESPACE;HEADER;FOLDER" "PAGES" ${ARGN})
  set(source "${CMAKE_CURRENT_BINARY_DIR}/pages.cpp")
  add_custom_command(OUTPUT "${source}"
    COMMAND "${CMAKE_COMMAND}" "-DPAGES=${ARG_PAGES}" "-DFOLDER=${ARG_FOLDER}" "-DNAMESPACE=${ARG_NAMESPACE}" "-DHEADER=${ARG_HEADER}"
      "-DOUTPUT=${source}" -P "${DET_EMBED_PAGES}"
    DEPENDS ${ARG_PAGES} "${DET_EMBED_PAGES}" VERBATIM)
  set(${variable} "${source}" PARENT_SCOPE)
endfunction()

# The target `programs`: all programs, libraries and other files that are installed, without tests.
function(det_add_programs_target)
  get_property(programs GLOBAL PROPERTY DET_PROGRAMS)
  get_property(files GLOBAL PROPERTY DET_FILES)
  add_custom_target(programs DEPENDS ${programs} ${files})
endfunction()

# Prints the version, the modules and the notes of this configuration.
function(det_print_summary)
  get_property(modules GLOBAL PROPERTY DET_MODULES)
  get_property(notes GLOBAL PROPERTY DET_SUMMARY)
  list(JOIN modules " " modules)
  message(STATUS "det-submit ${PROJECT_VERSION} (${CMAKE_BUILD_TYPE}); modules: ${modules}")
  foreach(note IN LISTS notes)
    message(STATUS "  ${note}")
  endforeach()
endfunction()

function(det_note text)
  set_property(GLOBAL APPEND PROPERTY DET_SUMMARY "${text}")
endfunction()

# Makes manual pages of section 1 from the pages of a program's commands: det_man_pages(det-submit PAGES dump.md job/list.md
# FOLDER .) makes det-submit-dump.1, det-submit-job-list.1, and det-submit.1, which lists them. COMPONENT: the program's.
find_program(DET_AWK NAMES awk mawk gawk)
set(DET_MAN_SCRIPT "${CMAKE_CURRENT_LIST_DIR}/man_page.awk")
set(DET_MAN_OVERVIEW "${CMAKE_CURRENT_LIST_DIR}/man_overview")
function(det_man_pages program)
  cmake_parse_arguments(ARG "" "COMPONENT;FOLDER;SUMMARY" "PAGES" ${ARGN})
  if(NOT DET_AWK)
    det_note("awk: not found, there are no manual pages of ${program}")
    return()
  endif()
  set(directory "${PROJECT_BINARY_DIR}/share/man/man1")
  string(TIMESTAMP date "%Y-%m-%d" UTC)  # the date of SOURCE_DATE_EPOCH if that variable is set
  file(MAKE_DIRECTORY "${directory}")
  set(made "")
  foreach(page IN LISTS ARG_PAGES)
    cmake_path(GET page FILENAME name)
    if(ARG_FOLDER)
      cmake_path(RELATIVE_PATH page BASE_DIRECTORY "${ARG_FOLDER}" OUTPUT_VARIABLE name)
    endif()
    string(REGEX REPLACE "\\.md$" "" name "${program}-${name}")
    string(REGEX REPLACE "[/_]" "-" name "${name}")
    add_custom_command(OUTPUT "${directory}/${name}.1"
      COMMAND "${DET_AWK}" -v "version=${PROJECT_VERSION}" -v "date=${date}" -v "program=${program}" -v "name=${name}" -f "${DET_MAN_SCRIPT}"
        "${page}" > "${directory}/${name}.1"
      DEPENDS "${page}" "${DET_MAN_SCRIPT}" VERBATIM)
    list(APPEND made "${directory}/${name}.1")
  endforeach()
  add_custom_command(OUTPUT "${directory}/${program}.1"
    COMMAND "${DET_MAN_OVERVIEW}" "${program}" "${PROJECT_VERSION}" "${date}" "${ARG_SUMMARY}" ${made} > "${directory}/${program}.1"
    DEPENDS ${made} "${DET_MAN_OVERVIEW}" VERBATIM)
  add_custom_target(man_${program} ALL DEPENDS ${made} "${directory}/${program}.1")
  set_property(GLOBAL APPEND PROPERTY DET_FILES man_${program})
  install(FILES ${made} "${directory}/${program}.1" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT ${ARG_COMPONENT})
endfunction()
