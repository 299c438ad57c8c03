# The kinds of tests. Programs lie in <build>/tests, whatever folder declares them.
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH DET_TESTS_DIR)

# The programs of the tests labelled quick, and all that is built outside of tests/: these tests use and install it.
# `tests/run quick` builds nothing else.
add_custom_target(quick-tests DEPENDS programs)
get_property(folders DIRECTORY "${PROJECT_SOURCE_DIR}" PROPERTY SUBDIRECTORIES)
foreach(folder IN LISTS folders)
  get_property(targets DIRECTORY "${folder}" PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(excluded ${target} EXCLUDE_FROM_ALL)
    get_target_property(type ${target} TYPE)
    if(NOT excluded AND NOT type STREQUAL "INTERFACE_LIBRARY")
      add_dependencies(quick-tests ${target})
    endif()
  endforeach()
endforeach()

# det_test(text SOURCES text_test.cpp LINKS det::foundation)
function(det_test name)
  cmake_parse_arguments(ARG "" "LABEL;TIMEOUT" "SOURCES;LINKS" ${ARGN})
  set(program test_${name})
  add_executable(${program} ${ARG_SOURCES})
  set_target_properties(${program} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests" POSITION_INDEPENDENT_CODE OFF)
  target_precompile_headers(${program} REUSE_FROM det_test_support)
  target_link_libraries(${program} PRIVATE det_test_support ${ARG_LINKS})
  add_test(NAME ${name} COMMAND ${program} --color_output=no)
  if(NOT ARG_LABEL)
    set(ARG_LABEL quick)
    add_dependencies(quick-tests ${program})
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 180)
  endif()
  if(DET_SANITIZE)
    math(EXPR ARG_TIMEOUT "4 * ${ARG_TIMEOUT}")
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABEL}" TIMEOUT ${ARG_TIMEOUT})
  if(DET_SANITIZE STREQUAL "thread")  # it crashes if UCX intercepts madvise when a thread starts
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "UCX_MEM_MMAP_HOOK_MODE=none;UCX_MEM_EVENTS=no")
  endif()
endfunction()

# add_mpi_test(transport_mpi SOURCES transport_mpi_test.cpp LINKS det::transport_mpi RANKS 1 2 4)
# One run of the program for each number of ranks. OWN_MAIN: the program has its own main() and does not use Boost.Test.
function(add_mpi_test name)
  cmake_parse_arguments(ARG "OWN_MAIN" "TIMEOUT" "SOURCES;LINKS;RANKS" ${ARGN})
  set(program test_${name})
  add_executable(${program} ${ARG_SOURCES})
  set_target_properties(${program} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests" POSITION_INDEPENDENT_CODE OFF)
  target_link_libraries(${program} PRIVATE MPI::MPI_C det_compile_options ${ARG_LINKS})
  add_dependencies(${program} det_mpi)
  if(NOT ARG_OWN_MAIN)
    target_sources(${program} PRIVATE ${DET_TESTS_DIR}/support/mpi_main.cpp)
    set_source_files_properties(${DET_TESTS_DIR}/support/mpi_main.cpp PROPERTIES
      SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)
    target_precompile_headers(${program} REUSE_FROM det_test_support)
    target_link_libraries(${program} PRIVATE det_test_support)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 180)
  endif()
  math(EXPR mpiexec_timeout "${ARG_TIMEOUT} - 5")  # mpiexec ends first: ctest's timeout would leave the ranks running
  set(environment MPIEXEC_TIMEOUT=${mpiexec_timeout})
  if(DET_SANITIZE MATCHES "address")  # Open MPI does not free all its memory
    list(APPEND environment ASAN_OPTIONS=detect_leaks=0)
  endif()
  foreach(ranks IN LISTS ARG_RANKS)
    set(test ${name}_${ranks}ranks)
    add_test(NAME ${test} COMMAND "${DET_TESTS_DIR}/mpi/run-ranks" ${MPIEXEC_EXECUTABLE} ${ranks}
      $<TARGET_FILE:${program}>)
    set_tests_properties(${test} PROPERTIES LABELS mpi PROCESSORS ${ranks} TIMEOUT ${ARG_TIMEOUT}
      SKIP_RETURN_CODE 77 ENVIRONMENT "${environment}")
  endforeach()
endfunction()

# det_cluster_test(loopback_site SOURCES loopback_site_test.cpp) : tests that start a Slurm of their own.
# Each has a cluster of its own, so ctest may run several at a time. Exit code 77: the test was skipped; its output says why.
# LABEL is cluster if it is not given.
function(det_cluster_test name)
  if(NOT TARGET det-loopback)
    return()
  endif()
  cmake_parse_arguments(ARG "" "LABEL;TIMEOUT" "SOURCES;LINKS" ${ARGN})
  if(NOT ARG_LABEL)
    set(ARG_LABEL cluster)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  det_test(${name} LABEL ${ARG_LABEL} TIMEOUT ${ARG_TIMEOUT} SOURCES ${ARG_SOURCES} LINKS det_cluster_support ${ARG_LINKS})
  add_dependencies(test_${name} det-loopback)
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
endfunction()

# det_site_test(main_job SLURM 24.11 PROFILE memory LABEL sites) : the program of the test main_job with another release of
# Slurm, another profile of the loopback site, or both. The test's name is main_job_24.11_memory. EXCEPT suite/case ... leaves
# out these cases. CGROUP_V2 runs it in a virtual machine that has cgroup v2: main_job_24.11_memory_cgroup_v2.
function(det_site_test program)
  cmake_parse_arguments(ARG "CGROUP_V2" "SLURM;PROFILE;LABEL" "EXCEPT;ONLY" ${ARGN})
  if(NOT TARGET test_${program})
    return()
  endif()
  set(parts ${program} ${ARG_SLURM} ${ARG_PROFILE})
  set(machine)
  if(ARG_CGROUP_V2)
    list(APPEND parts cgroup_v2)
    set(machine "${PROJECT_SOURCE_DIR}/site-configs/loopback/virtual-machine")
  endif()
  list(JOIN parts _ name)
  list(TRANSFORM ARG_EXCEPT PREPEND "--run_test=!")
  list(TRANSFORM ARG_ONLY PREPEND "--run_test=")
  add_test(NAME ${name} COMMAND ${machine} env "DET_TEST_SLURM=${ARG_SLURM}" "DET_TEST_PROFILE=${ARG_PROFILE}"
    "$<TARGET_FILE:test_${program}>" --color_output=no ${ARG_EXCEPT} ${ARG_ONLY})
  # The first test of a release on a machine makes its root file system.
  set_tests_properties(${name} PROPERTIES LABELS ${ARG_LABEL} TIMEOUT 1200 SKIP_RETURN_CODE 77 FIXTURES_REQUIRED digits_data)
endfunction()

# det_digits_test(main_job SOURCES main_job_test.cpp) : a det_cluster_test that needs the programs and the digits data set.
function(det_digits_test name)
  det_cluster_test(${name} ${ARGN})
  if(TARGET test_${name})
    add_dependencies(test_${name} programs)
    set_tests_properties(${name} PROPERTIES FIXTURES_REQUIRED digits_data)
  endif()
endfunction()
