# CPack: the relocatable tarball (target `tarball`), and .deb and .rpm packages, one per component (target `packages`), in
# <build>/packages. Components: submitter, runtime, devel, slurm (the SPANK plugin and the libslurm module of a release).
# The tarball has all of them, the examples, and the libraries that det::core needs.

set(DET_PACKAGE_CONTACT "the maintainers of det-submit <maintainers@det-submit.example>" CACHE STRING
  "Who maintains the packages that are made here: name and address")

# Sets `result` to the release of <slurm/slurm_version.h>, for example 22.05, where the header has 0x160508 for 22.05.8. Empty if
# Slurm's headers were not found.
function(det_slurm_release result)
  set(${result} "" PARENT_SCOPE)
  set(header "${DET_SLURM_INCLUDE}/slurm/slurm_version.h")
  if(NOT DET_SLURM_INCLUDE OR NOT EXISTS "${header}")
    return()
  endif()
  file(STRINGS "${header}" line REGEX "define SLURM_VERSION_NUMBER 0x")
  if(line MATCHES "0x(..)(..)")
    math(EXPR major "0x${CMAKE_MATCH_1}")
    math(EXPR minor "0x${CMAKE_MATCH_2}")
    if(minor LESS 10)
      set(minor "0${minor}")
    endif()
    set(${result} "${major}.${minor}" PARENT_SCOPE)
  endif()
endfunction()

# det_component(runtime PACKAGE det-submit-runtime SUMMARY "one line" DESCRIPTION "a sentence or two"
#   DEPENDS other components  DEB_DEPENDS names RPM_REQUIRES names  SUGGESTS names  [SECTION name] [COPYRIGHT file])
# The doc files and lintian overrides belong to the packages only: a full installation and the tarball have none of them.
function(det_component name)
  cmake_parse_arguments(ARG "" "PACKAGE;SUMMARY;DESCRIPTION;DEB_DEPENDS;RPM_REQUIRES;SUGGESTS;SECTION;COPYRIGHT" "DEPENDS" ${ARGN})
  string(TOUPPER "${name}" upper)
  set(deb_depends "${ARG_DEB_DEPENDS}")
  set(rpm_requires "${ARG_RPM_REQUIRES}")
  foreach(other IN LISTS ARG_DEPENDS)
    string(APPEND deb_depends ", ${other} (= ${PROJECT_VERSION})")
    string(APPEND rpm_requires ", ${other} = ${PROJECT_VERSION}")
  endforeach()
  set(CPACK_COMPONENTS_ALL ${CPACK_COMPONENTS_ALL} ${name} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME "${ARG_PACKAGE}" PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "${deb_depends}" PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_SUGGESTS "${ARG_SUGGESTS}" PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION "${ARG_SECTION}" PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_DESCRIPTION "${ARG_SUMMARY}\n${ARG_DESCRIPTION}" PARENT_SCOPE)
  set(CPACK_RPM_${name}_PACKAGE_NAME "${ARG_PACKAGE}" PARENT_SCOPE)
  set(CPACK_RPM_${name}_PACKAGE_REQUIRES "${rpm_requires}" PARENT_SCOPE)
  set(CPACK_RPM_${name}_PACKAGE_SUMMARY "${ARG_SUMMARY}" PARENT_SCOPE)
  set(CPACK_RPM_${name}_PACKAGE_DESCRIPTION "${ARG_DESCRIPTION}" PARENT_SCOPE)

  set(source "${PROJECT_SOURCE_DIR}/site-configs/packaging")
  set(made "${PROJECT_BINARY_DIR}/package-files/${ARG_PACKAGE}")
  configure_file("${source}/changelog.in" "${made}/changelog" @ONLY)
  find_program(DET_GZIP gzip)
  if(DET_GZIP)
    execute_process(COMMAND "${DET_GZIP}" -9nf "${made}/changelog")
    install(FILES "${made}/changelog.gz" DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/${ARG_PACKAGE}" COMPONENT ${name} EXCLUDE_FROM_ALL)
  endif()
  install(FILES "${source}/${ARG_COPYRIGHT}" RENAME copyright DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/${ARG_PACKAGE}"
    COMPONENT ${name} EXCLUDE_FROM_ALL)
  if(EXISTS "${source}/overrides/${name}")
    configure_file("${source}/overrides/${name}" "${made}/overrides" @ONLY)
    install(FILES "${made}/overrides" RENAME "${ARG_PACKAGE}" DESTINATION "${CMAKE_INSTALL_DATADIR}/lintian/overrides"
      COMPONENT ${name} EXCLUDE_FROM_ALL)
  endif()
endfunction()

macro(det_packages)
  set(CPACK_PACKAGE_NAME det-submit)
  set(CPACK_PACKAGE_VENDOR "the det-submit project")
  set(CPACK_PACKAGE_CONTACT "${DET_PACKAGE_CONTACT}")
  set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
  set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
  set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
  set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/packages")
  set(CPACK_VERBATIM_VARIABLES ON)
  set(CPACK_STRIP_FILES ON)
  set(CPACK_THREADS 0)

  # The tarball: one folder, with the name of the file.
  set(CPACK_PACKAGE_FILE_NAME "det-submit-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR}")
  set(CPACK_INCLUDE_TOPLEVEL_DIRECTORY ON)
  set(CPACK_ARCHIVE_COMPONENT_INSTALL OFF)

  set(CPACK_COMPONENTS_ALL "")
  det_slurm_release(slurm_release)
  if(NOT DET_ONLY_SLURM_PARTS)
    det_component(submitter PACKAGE det-submit SUMMARY "machine learning experiments as Slurm jobs: the commands" SECTION science
      DESCRIPTION "det-submit turns an experiment, written as YAML in the form of Determined
AI, into jobs of a Slurm cluster, and follows them to their end. It needs
no daemon and no root. 'det-submit web' shows experiments in a browser."
      DEPENDS det-submit-runtime DEB_DEPENDS "libc6 (>= 2.28), libgcc-s1" RPM_REQUIRES "glibc >= 2.28, libgcc" COPYRIGHT copyright)
    det_component(runtime PACKAGE det-submit-runtime SUMMARY "machine learning experiments as Slurm jobs: compute nodes" SECTION science
      DESCRIPTION "What runs inside the jobs of det-submit: the supervisor of a trial, the
wrapper of a rank, launchers, libdet and the Python package determined.
The modules for MPI, UCX and S3 are used where their libraries are
installed."
      DEB_DEPENDS "libc6 (>= 2.28), libgcc-s1" RPM_REQUIRES "glibc >= 2.28, libgcc"
      SUGGESTS "python3, libopenmpi3, libucx0, libcurl4" COPYRIGHT copyright)
    # libdet is in the folder of the dynamic linker, and programs link it.
    set(made "${PROJECT_BINARY_DIR}/package-files/det-submit-runtime")
    file(WRITE "${made}/triggers" "activate-noawait ldconfig\n")
    file(WRITE "${made}/shlibs" "libdet ${PROJECT_VERSION_MAJOR} det-submit-runtime (>= ${PROJECT_VERSION})\n")
    set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA "${made}/triggers" "${made}/shlibs")
    det_component(devel PACKAGE det-submit-dev SUMMARY "machine learning experiments as Slurm jobs: headers" SECTION libdevel
      DESCRIPTION "Headers, static libraries, and CMake and pkg-config files for training
programs in C and C++ that use det-submit."
      DEPENDS det-submit-runtime DEB_DEPENDS "libfmt-dev (>= 9), libfmt-dev (<< 10), nlohmann-json3-dev" RPM_REQUIRES "fmt-devel, json-devel"
      COPYRIGHT copyright)
  endif()
  if(slurm_release)
    det_component(slurm PACKAGE "det-submit-slurm-${slurm_release}" SUMMARY "SPANK plugin of det-submit for Slurm ${slurm_release}" SECTION science
      DESCRIPTION "The SPANK plugin spank_det.so, which gives the ranks of batch scripts
their identity and labels, and the module with which det-submit reads the
queue through libslurm. Both work with Slurm ${slurm_release} only."
      DEB_DEPENDS "libc6 (>= 2.35)" RPM_REQUIRES "glibc >= 2.35" COPYRIGHT copyright-slurm)
    set(CPACK_DEBIAN_SLURM_PACKAGE_PROVIDES det-submit-slurm)
    set(CPACK_DEBIAN_SLURM_PACKAGE_CONFLICTS det-submit-slurm)
    set(CPACK_DEBIAN_SLURM_PACKAGE_ENHANCES "slurmd, det-submit")
  endif()

  set(CPACK_DEB_COMPONENT_INSTALL ON)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS OFF)  # DEPENDS above has the versions
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS OFF)  # else the runtime would need MPI, UCX, PMIx and libcurl
  set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
  set(CPACK_RPM_COMPONENT_INSTALL ON)
  set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
  set(CPACK_RPM_PACKAGE_LICENSE "Apache-2.0 AND GPL-2.0-or-later")
  set(CPACK_RPM_PACKAGE_AUTOREQ OFF)
  set(CPACK_RPM_SPEC_MORE_DEFINE "%define _build_id_links none\n%define __os_install_post %{nil}")
  set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION /usr/share/lintian /usr/share/lintian/overrides)
  set(CPACK_PROJECT_CONFIG_FILE "${PROJECT_SOURCE_DIR}/runtime/cmake/package_prefix.cmake")
  set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_SOURCE_DIR}/runtime/cmake/package_manuals.cmake")
  include(CPack)

  find_program(DET_DPKG_DEB dpkg-deb)
  find_program(DET_RPMBUILD rpmbuild)
  add_custom_target(tarball COMMAND "${CMAKE_CPACK_COMMAND}" -G TZST --config "${PROJECT_BINARY_DIR}/CPackConfig.cmake"
    DEPENDS programs COMMENT "Packing ${CPACK_PACKAGE_DIRECTORY}/${CPACK_PACKAGE_FILE_NAME}.tar.zst" USES_TERMINAL VERBATIM)
  set(det_package_commands "")
  if(DET_DPKG_DEB)
    list(APPEND det_package_commands COMMAND "${CMAKE_CPACK_COMMAND}" -G DEB --config "${PROJECT_BINARY_DIR}/CPackConfig.cmake")
  endif()
  if(DET_RPMBUILD)
    list(APPEND det_package_commands COMMAND "${CMAKE_CPACK_COMMAND}" -G RPM --config "${PROJECT_BINARY_DIR}/CPackConfig.cmake")
  endif()
  if(det_package_commands)
    add_custom_target(packages ${det_package_commands} DEPENDS programs COMMENT "Packages in ${CPACK_PACKAGE_DIRECTORY}" USES_TERMINAL VERBATIM)
  endif()
endmacro()
