# Downloads all archives of table.cmake into a directory: cmake -DARCHIVES=DIR -P download.cmake
set(DET_SOURCES "")
include("${CMAKE_CURRENT_LIST_DIR}/build.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/table.cmake")
foreach(name IN LISTS DET_DEPENDENCIES)
  det_download_archive(${name} "${ARCHIVES}" path)
  message(STATUS "${name}: ${path}")
endforeach()
