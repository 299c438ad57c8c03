# The libraries that every build needs. DET_FETCH_DEPENDENCIES says which of them are built here, as static libraries, from the
# pinned archives of dependencies/table.cmake:
#   OFF  none: a library that is missing is an error
#   ON   those that are not found
#   ALL  all of them: the programs then need no shared library of the machine except glibc and libgcc_s
# They are built while CMake configures, in <build>/dependencies, and once per archive, compiler and options.
set(DET_FETCH_DEPENDENCIES OFF CACHE STRING "Build libraries from pinned archives: OFF, ON (what is not found) or ALL")
set_property(CACHE DET_FETCH_DEPENDENCIES PROPERTY STRINGS OFF ON ALL)
set(DET_SOURCES "" CACHE PATH "Directory with the archives of dependencies/table.cmake; empty: they are downloaded")

set(DET_DEPENDENCIES_PREFIX "${PROJECT_BINARY_DIR}/dependencies")
set(DET_DEPENDENCIES_DIR "${CMAKE_CURRENT_LIST_DIR}/dependencies")
set(DET_DEPENDENCIES_BUILT "")
include("${DET_DEPENDENCIES_DIR}/build.cmake")
include("${DET_DEPENDENCIES_DIR}/table.cmake")

foreach(name IN LISTS DET_DEPENDENCIES)
  det_is_wanted(${name} is_wanted)
  if(is_wanted)
    det_build_dependency(${name})
    list(APPEND DET_DEPENDENCIES_BUILT ${name})
  endif()
endforeach()
if(DET_DEPENDENCIES_BUILT)
  list(PREPEND CMAKE_PREFIX_PATH "${DET_DEPENDENCIES_PREFIX}")
  if(CMAKE_CROSSCOMPILING)
    list(APPEND CMAKE_FIND_ROOT_PATH "${DET_DEPENDENCIES_PREFIX}")
  endif()
  list(JOIN DET_DEPENDENCIES_BUILT " " names)
  det_note("libraries built from pinned archives: ${names}")
endif()

# An imported target for a library without a CMake package: det_find_library(zstd::libzstd zstd.h zstd "Debian: libzstd-dev").
# With ARCHIVE its static archive is preferred.
function(det_find_library target header library hint)
  cmake_parse_arguments(PREFER "ARCHIVE" "" "" ${ARGN})
  set(names ${library})
  if(PREFER_ARCHIVE)
    list(PREPEND names "lib${library}.a")
  endif()
  string(MAKE_C_IDENTIFIER "DET_${library}" variable)
  string(TOUPPER "${variable}" variable)
  find_path(${variable}_INCLUDE ${header})
  find_library(${variable}_LIBRARY NAMES ${names} NAMES_PER_DIR)
  mark_as_advanced(${variable}_INCLUDE ${variable}_LIBRARY)
  if(NOT ${variable}_INCLUDE OR NOT ${variable}_LIBRARY)
    message(FATAL_ERROR "${header} or lib${library} was not found (${hint}; DET_FETCH_DEPENDENCIES=ON builds it)")
  endif()
  add_library(${target} INTERFACE IMPORTED)
  target_include_directories(${target} SYSTEM INTERFACE "${${variable}_INCLUDE}")
  target_link_libraries(${target} INTERFACE "${${variable}_LIBRARY}")
endfunction()

# Found here and not where they are used: imported targets are visible below the directory that finds them.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
if(NOT DET_ONLY_SLURM_PARTS)
  find_package(MPI COMPONENTS C)
  find_package(PkgConfig)
  if(PkgConfig_FOUND)
    pkg_check_modules(DET_UCX IMPORTED_TARGET ucx)
  endif()
  find_package(CLI11 REQUIRED)
  find_package(LibArchive REQUIRED)
  # Each command line starts det-submit anew: loading yaml-cpp, zstd, SQLite and zlib as shared libraries takes 0.5 of the 2.4 ms
  # of `det-submit version`. So their static archives are used where they are there (Debian has them). libdet.so uses none of them.
  det_find_library(yaml-cpp::yaml-cpp yaml-cpp/yaml.h yaml-cpp "Debian: libyaml-cpp-dev" ARCHIVE)
  det_find_library(zstd::libzstd zstd.h zstd "Debian: libzstd-dev" ARCHIVE)
  find_library(SQLite3_LIBRARY NAMES libsqlite3.a sqlite3 NAMES_PER_DIR)
  find_library(ZLIB_LIBRARY_RELEASE NAMES libz.a z NAMES_PER_DIR)
  find_package(SQLite3 REQUIRED)
  set_property(TARGET SQLite::SQLite3 APPEND PROPERTY INTERFACE_LINK_LIBRARIES ${CMAKE_DL_LIBS})  # its archive needs it before glibc 2.34
  find_package(ZLIB REQUIRED)
  if("boost" IN_LIST DET_DEPENDENCIES_BUILT)
    add_library(Boost::headers INTERFACE IMPORTED)
    target_include_directories(Boost::headers SYSTEM INTERFACE "${DET_DEPENDENCIES_PREFIX}/include")
  else()
    find_package(Boost 1.74 REQUIRED)
  endif()
  det_find_library(re2::re2 re2/re2.h re2 "Debian: libre2-dev")
endif()
