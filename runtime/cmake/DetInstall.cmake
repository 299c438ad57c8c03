# Installs the headers, libraries, CMake package and pkg-config files with which other projects build:
#   find_package(det-submit) gives det::c (libdet, the C interface) and det::core (the C++ interface, static);
#   pkg-config has det and det-core.
include(CMakePackageConfigHelpers)

# Appends the project's static libraries that `target` links, dependencies first, to the global property
# DET_CORE_MODULES, and other libraries that it links to DET_CORE_EXTERNALS.
function(det_collect_links target)
  get_target_property(links "${target}" LINK_LIBRARIES)
  foreach(link IN LISTS links)
    if(link MATCHES "^\\$<")  # $<BUILD_INTERFACE:...>
      continue()
    endif()
    if(TARGET "${link}")
      get_target_property(aliased "${link}" ALIASED_TARGET)
      if(aliased)
        set(link "${aliased}")
      endif()
    endif()
    if(NOT link MATCHES "^det_")
      set_property(GLOBAL APPEND PROPERTY DET_CORE_EXTERNALS "${link}")
      continue()
    endif()
    get_property(seen GLOBAL PROPERTY DET_CORE_MODULES)
    if(NOT link IN_LIST seen)
      det_collect_links("${link}")
    endif()
  endforeach()
  set_property(GLOBAL APPEND PROPERTY DET_CORE_MODULES "${target}")
endfunction()

# Installs det_core with the modules that it consists of, and both packages. Called when all modules are declared.
function(det_install_packages)
  det_collect_links(det_core)
  get_property(modules GLOBAL PROPERTY DET_CORE_MODULES)
  get_property(externals GLOBAL PROPERTY DET_CORE_EXTERNALS)
  list(REMOVE_DUPLICATES modules)
  list(REMOVE_DUPLICATES externals)
  foreach(module IN LISTS modules)
    string(REGEX REPLACE "^det_" "" name "${module}")
    set_target_properties("${module}" PROPERTIES EXPORT_NAME "${name}")
    target_compile_features("${module}" INTERFACE cxx_std_20)
  endforeach()
  install(TARGETS ${modules} EXPORT det-submit-core ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" FILE_SET HEADERS)

  # The packages that a program must find before it links det::core.
  set(DET_FIND_DEPENDENCIES "")
  set(DET_CORE_REQUIRES fmt nlohmann_json)
  list(REVERSE modules)
  list(TRANSFORM modules PREPEND "-l" OUTPUT_VARIABLE libraries)
  foreach(external IN LISTS externals)
    if(external STREQUAL "MPI::MPI_C")
      string(APPEND DET_FIND_DEPENDENCIES "find_dependency(MPI COMPONENTS C)\n  ")
      list(APPEND libraries ${MPI_C_LIBRARIES})
    elseif(external MATCHES "^PkgConfig::DET_(.*)$")
      string(TOLOWER "${CMAKE_MATCH_1}" package)
      string(APPEND DET_FIND_DEPENDENCIES "find_dependency(PkgConfig)\n  pkg_check_modules(DET_${CMAKE_MATCH_1} REQUIRED IMPORTED_TARGET ${package})\n  ")
      list(APPEND DET_CORE_REQUIRES "${package}")
    elseif(NOT external MATCHES "::")
      list(APPEND libraries "${external}")
    endif()
  endforeach()
  list(TRANSFORM libraries REPLACE "^([a-z]+)$" "-l\\1")
  list(JOIN libraries " " DET_CORE_LIBRARIES)
  list(JOIN DET_CORE_REQUIRES ", " DET_CORE_REQUIRES)

  set(package "${CMAKE_INSTALL_LIBDIR}/cmake/det-submit")
  install(EXPORT det-submit-c NAMESPACE det:: DESTINATION "${package}")
  install(EXPORT det-submit-core NAMESPACE det:: DESTINATION "${package}")
  configure_package_config_file("${PROJECT_SOURCE_DIR}/runtime/cmake/det-submit-config.cmake.in"
    "${PROJECT_BINARY_DIR}/det-submit-config.cmake" INSTALL_DESTINATION "${package}")
  write_basic_package_version_file("${PROJECT_BINARY_DIR}/det-submit-config-version.cmake"
    VERSION "${PROJECT_VERSION}" COMPATIBILITY SameMinorVersion)
  install(FILES "${PROJECT_BINARY_DIR}/det-submit-config.cmake"
    "${PROJECT_BINARY_DIR}/det-submit-config-version.cmake" DESTINATION "${package}")

  file(RELATIVE_PATH DET_INCLUDE_FROM_PKGCONFIG "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/${CMAKE_INSTALL_INCLUDEDIR}")
  foreach(name det det-core)
    configure_file("${PROJECT_SOURCE_DIR}/runtime/cmake/${name}.pc.in" "${PROJECT_BINARY_DIR}/${name}.pc" @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/${name}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
  endforeach()
endfunction()
