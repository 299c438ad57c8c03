# The headers of HIP and RCCL, from packages of Debian 13: 220 kB. Programs are compiled with them and never linked to the libraries.
include("${CMAKE_CURRENT_LIST_DIR}/build.cmake")
det_dependency(hip ARCHIVE r/rocm-hipamd/libamdhip64-dev_5.7.1-6+deb13u1_amd64.deb
  SHA256 471242c9d89ce6aca57b2dc75eabbeb872d787f70d3b92144c58bb444e6256a1)
det_dependency(rccl ARCHIVE r/rccl/librccl-dev_5.4.3-3+b1_amd64.deb
  SHA256 87e977a72579fcc891c37be5169f051699b9ab3822bef1331f6d33a0e66fd571)

# Sets `result` to a directory whose include/ has the headers.
function(det_fetch_rocm_headers result)
  set(prefix "${PROJECT_BINARY_DIR}/dependencies/rocm")
  foreach(name hip rccl)
    set(stamp "${prefix}/${name}-${DET_ROW_${name}_SHA256}")
    if(EXISTS "${stamp}")
      continue()
    endif()
    det_find_archive(${name} package)
    # A Debian package is an `ar` archive of `tar` archives.
    file(ARCHIVE_EXTRACT INPUT "${package}" DESTINATION "${prefix}/unpacked")
    file(GLOB files "${prefix}/unpacked/data.tar.*")
    file(ARCHIVE_EXTRACT INPUT "${files}" DESTINATION "${prefix}/unpacked" PATTERNS "*/include/*")
    file(COPY "${prefix}/unpacked/usr/include" DESTINATION "${prefix}")
    file(REMOVE_RECURSE "${prefix}/unpacked")
    file(TOUCH "${stamp}")
  endforeach()
  set(${result} "${prefix}" PARENT_SCOPE)
endfunction()
