# CMake's toolchain file for aarch64 with Debian's cross compiler. DET_SYSROOT in the environment or the cache: the directory with the libraries.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

if(NOT DEFINED DET_SYSROOT)
  set(DET_SYSROOT "$ENV{DET_SYSROOT}")
endif()
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES DET_SYSROOT)
set(CMAKE_SYSROOT "${DET_SYSROOT}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_DIR} "")
set(ENV{PKG_CONFIG_LIBDIR} "${DET_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${DET_SYSROOT}/usr/share/pkgconfig")
set(ENV{PKG_CONFIG_SYSROOT_DIR} "${DET_SYSROOT}")

# Programs that the build starts, and ctest's tests, run under qemu's emulation.
set(CMAKE_CROSSCOMPILING_EMULATOR "qemu-aarch64;-L;${DET_SYSROOT}")
