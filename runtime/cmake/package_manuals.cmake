# Run by CPack when the files of a package are in its staging directory: .deb and .rpm have compressed manual pages.
if(CPACK_GENERATOR MATCHES "DEB|RPM")
  find_program(gzip gzip REQUIRED)
  file(GLOB_RECURSE pages "${CPACK_TEMPORARY_DIRECTORY}/*.1")
  if(pages)
    execute_process(COMMAND "${gzip}" -9nf ${pages} COMMAND_ERROR_IS_FATAL ANY)
  endif()
endif()
