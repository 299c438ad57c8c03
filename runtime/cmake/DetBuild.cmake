# Settings for all targets: standard, warnings, sanitizers, output directories of programs and libraries.
include(GNUInstallDirs)

option(DET_WARNINGS_AS_ERRORS "Treat warnings as errors (presets and CI; not for packagers)" OFF)
set(DET_SANITIZE "" CACHE STRING "Sanitizers for -fsanitize=, for example address,undefined")
option(DET_FUZZ "Build fuzzers (clang)" OFF)
set(DET_DEBUG_INFO 1 CACHE STRING "-g level of Debug builds: 1 names lines in backtraces, 2 variables too and compiles 1.7 times as long")
option(DET_PRECOMPILE "Precompile the headers that most sources include" ON)
option(DET_STATIC_LIBSTDCXX "Link libstdc++ statically: programs for machines with an older one" OFF)
option(DET_GLIBC_2_28 "Programs for glibc 2.28 and newer, also where this machine's glibc is newer" OFF)
option(DET_UNITY "Compile the sources of a module in groups: a third of the work where everything is built" OFF)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 11)
  message(FATAL_ERROR "det-submit needs gcc 11 or newer; ${CMAKE_CXX_COMPILER} is gcc ${CMAKE_CXX_COMPILER_VERSION}.\n"
    "  hint: load the site's module of a newer gcc, or on Rocky and RHEL: dnf install gcc-toolset-12 && "
    "source /opt/rh/gcc-toolset-12/enable; then configure an empty build directory")
endif()

set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-Og -g${DET_DEBUG_INFO}")
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 99)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")

# A unity build compiles up to 32 sources of a module together, so their names of file scope must not clash.
set(CMAKE_UNITY_BUILD "${DET_UNITY}")
set(CMAKE_UNITY_BUILD_BATCH_SIZE 32)

find_program(DET_CCACHE ccache)
if(DET_CCACHE)
  # ccache caches sources with a precompiled header only with these settings.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros "${DET_CCACHE}")
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)
endif()

# gcc collects its garbage when it has 128 MiB. The larger groups of sources need up to 600 MiB, and with several collections
# they take a sixth longer.
add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=1000000>)

# All modules link this target. Other projects that include the headers do not get these warning options.
add_library(det_compile_options INTERFACE)
target_compile_options(det_compile_options INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wimplicit-fallthrough
  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>  # gcc warns wrongly about an empty std::optional (bug 80635)
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>  # gcc 12 warns wrongly about "literal" + std::string (bug 105651)
  $<$<BOOL:${DET_WARNINGS_AS_ERRORS}>:-Werror>
  -ffunction-sections -fdata-sections)
target_link_options(det_compile_options INTERFACE -Wl,--gc-sections -Wl,--as-needed)

# -Og for targets whose time is that of files, processes and Slurm: they compile in half of the time that -O2 takes, and in
# four fifths of that of -O1.
function(det_optimise_lightly)
  foreach(target IN LISTS ARGN)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-Og>)
  endforeach()
endfunction()

# libgcc stays shared: its unwinder needs glibc 2.35 when it is linked statically, and every Linux has libgcc_s.
# Without --exclude-libs, shared libraries would contain and export all of libstdc++.
if(DET_STATIC_LIBSTDCXX)
  target_link_options(det_compile_options INTERFACE -static-libstdc++ -Wl,--exclude-libs,ALL)
endif()

# Each command line starts a program anew, and half of the 2 ms that det-submit's start takes is the linking of libstdc++ and libfmt at
# run time. A program of this function contains both, where the machine has what that needs; else it is linked as others are.
function(det_link_for_quick_start program)
  if(DET_STATIC_LIBSTDCXX OR DET_SANITIZE)
    return()
  endif()
  set(functions "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/fmt_9/functions.cpp")
  if(NOT DEFINED DET_HAS_STATIC_CXX_LIBRARIES)
    file(WRITE "${CMAKE_BINARY_DIR}/CMakeFiles/fmt_user.cpp"
      "#include <fmt/format.h>\nint main(int count, char**) { return fmt::format(\"{}\", count).empty() ? 1 : 0; }\n")
    try_compile(DET_HAS_STATIC_CXX_LIBRARIES "${CMAKE_BINARY_DIR}/CMakeFiles/static_cxx_libraries"
      SOURCES "${CMAKE_BINARY_DIR}/CMakeFiles/fmt_user.cpp" "${functions}"
      LINK_OPTIONS -static-libstdc++ -static-libgcc CXX_STANDARD 20)
  endif()
  if(DET_HAS_STATIC_CXX_LIBRARIES)
    target_sources(${program} PRIVATE "${functions}")
    set_source_files_properties("${functions}" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON)
    target_link_options(${program} PRIVATE -static-libstdc++ -static-libgcc)
  endif()
endfunction()

# Objects and not an archive: libstdc++'s archive also has to find these functions before glibc's. glibc 2.28 has threads and dlopen()
# in libraries of their own. A program with the property DET_IS_STATIC contains glibc.
if(DET_GLIBC_2_28)
  set(is_dynamic "$<NOT:$<BOOL:$<TARGET_PROPERTY:DET_IS_STATIC>>>")
  set(is_dynamic_program "$<AND:${is_dynamic},$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>>")
  foreach(part functions start)
    add_library(det_glibc_${part} OBJECT "${CMAKE_CURRENT_LIST_DIR}/glibc_2_28/${part}.c")
    target_compile_options(det_glibc_${part} PRIVATE -Wall -Wextra -Wno-maybe-uninitialized
      -fvisibility=hidden -ffunction-sections -fdata-sections)
    set_property(TARGET det_compile_options APPEND PROPERTY INTERFACE_LINK_DEPENDS "$<TARGET_OBJECTS:det_glibc_${part}>")
  endforeach()
  target_link_options(det_compile_options INTERFACE
    "$<${is_dynamic}:$<TARGET_OBJECTS:det_glibc_functions>>"
    "$<${is_dynamic_program}:$<TARGET_OBJECTS:det_glibc_start>>"
    "$<${is_dynamic}:SHELL:-Wl,--no-as-needed -l:libpthread.so.0 -l:libdl.so.2 -Wl,--as-needed>")
endif()

if(DET_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(DET_SANITIZE)
  add_compile_options(-fsanitize=${DET_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${DET_SANITIZE})
endif()
