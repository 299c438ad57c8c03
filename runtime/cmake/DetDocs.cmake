# `docs` builds the reference of the public interfaces with Doxygen; a warning is an error.
find_program(DET_DOXYGEN doxygen)
mark_as_advanced(DET_DOXYGEN)
if(NOT DET_DOXYGEN)
  det_note("Doxygen: not found, there is no target docs")
  return()
endif()

set(DET_DOCUMENTED "")
foreach(module capi core collectives checkpoint transport tensor)
  if(IS_DIRECTORY "${PROJECT_SOURCE_DIR}/runtime/${module}/include")
    string(APPEND DET_DOCUMENTED " \"${PROJECT_SOURCE_DIR}/runtime/${module}/include\"")
  endif()
endforeach()
configure_file("${CMAKE_CURRENT_LIST_DIR}/Doxyfile.in" "${PROJECT_BINARY_DIR}/Doxyfile" @ONLY)
add_custom_target(docs COMMAND "${DET_DOXYGEN}" "${PROJECT_BINARY_DIR}/Doxyfile"
  COMMENT "Reference: ${PROJECT_BINARY_DIR}/docs/html/index.html" VERBATIM)
