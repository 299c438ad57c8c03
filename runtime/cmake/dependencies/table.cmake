# The pinned libraries: the upstream archives of source packages of Debian 12, in the order in which they are built. A row:
#   det_dependency(NAME ARCHIVE folder-of-Debian's-pool/file SHA256 sum
#     PROBE how to find the library on the machine: a CMake package with a minimum version, or HEADER and LIBRARY
#     SUBDIRECTORY of the archive with its CMakeLists.txt; OVERLAY: dependencies/NAME/CMakeLists.txt is used instead
#     EXTRACT only these files of the archive       ADD an archive of this folder, and where in the sources it is unpacked
#     OPTIONS for its CMake)
det_dependency(fmt ARCHIVE f/fmtlib/fmtlib_9.1.0+ds1.orig.tar.gz
  SHA256 84ce1c2d0be3a9863935137969dcec6970125caac032f82474640bfc81463583
  PROBE PACKAGE fmt 8 OPTIONS -DFMT_TEST=OFF -DFMT_DOC=OFF)
det_dependency(nlohmann_json ARCHIVE n/nlohmann-json3/nlohmann-json3_3.11.2.orig.tar.gz
  SHA256 d69f9deb6a75e2580465c6c4c5111b89c4dc2fa94e3a85fcd2ffcd9a143d9273
  PROBE PACKAGE nlohmann_json 3.9 EXTRACT "*/CMakeLists.txt" "*/cmake/*" "*/include/*" "*.natvis" OPTIONS -DJSON_BuildTests=OFF)
if(NOT DET_ONLY_SLURM_PARTS)
  det_dependency(yaml-cpp ARCHIVE y/yaml-cpp/yaml-cpp_0.7.0+dfsg.orig.tar.xz
    SHA256 dc63708605404e0b963e0ca3a9619d1c8270eda2839603e6fa0384e5e51e5312
    PROBE PACKAGE yaml-cpp OPTIONS -DYAML_CPP_BUILD_TESTS=OFF -DYAML_CPP_BUILD_TOOLS=OFF -DYAML_CPP_BUILD_CONTRIB=OFF
      "-DCMAKE_CXX_FLAGS=-include cstdint")  # yaml-cpp 0.7 does not include it, and gcc 15 needs it
  det_dependency(CLI11 ARCHIVE c/cli11/cli11_2.1.2+ds.orig.tar.xz
    SHA256 8143d20b688e98ccce8e24562d3b68e5f47c12e896c42c7ca8553dbde5bed55d
    PROBE PACKAGE CLI11 2 OPTIONS -DCLI11_BUILD_TESTS=OFF -DCLI11_BUILD_EXAMPLES=OFF -DCLI11_BUILD_DOCS=OFF
      -DCLI11_SINGLE_FILE=OFF)
  det_dependency(zlib ARCHIVE z/zlib/zlib_1.2.13.dfsg.orig.tar.bz2
    SHA256 71feb7947e3c00ef125f83b79a4e529bde31171e5babe48b391f06758d1ab0a1
    PROBE HEADER zlib.h LIBRARY z OVERLAY)
  det_dependency(zstd ARCHIVE libz/libzstd/libzstd_1.5.4+dfsg2.orig.tar.xz
    SHA256 8cf4bbb65e77ec348d052c8d6230eba66d435bddf64c8b5be2fcb16880c19953
    PROBE HEADER zstd.h LIBRARY zstd SUBDIRECTORY build/cmake
    OPTIONS -DZSTD_BUILD_PROGRAMS=OFF -DZSTD_BUILD_TESTS=OFF -DZSTD_BUILD_SHARED=OFF -DZSTD_LEGACY_SUPPORT=OFF)
  # Only its reader of the tar format is used.
  det_dependency(libarchive ARCHIVE liba/libarchive/libarchive_3.6.2.orig.tar.xz
    SHA256 9e2c1b80d5fbe59b61308fdfab6c79b5021d7ff4ff2489fb12daf0a96a83551d
    PROBE HEADER archive.h LIBRARY archive
    OPTIONS -DENABLE_TEST=OFF -DENABLE_TAR=OFF -DENABLE_CPIO=OFF -DENABLE_CAT=OFF -DENABLE_OPENSSL=OFF -DENABLE_NETTLE=OFF
      -DENABLE_MBEDTLS=OFF -DENABLE_ZLIB=OFF -DENABLE_BZip2=OFF -DENABLE_LZMA=OFF -DENABLE_LZO=OFF -DENABLE_LZ4=OFF
      -DENABLE_ZSTD=OFF -DENABLE_LIBB2=OFF -DENABLE_LIBXML2=OFF -DENABLE_EXPAT=OFF -DENABLE_PCREPOSIX=OFF -DENABLE_ICONV=OFF
      -DENABLE_ACL=OFF -DENABLE_XATTR=OFF -DENABLE_WERROR=OFF)
  det_dependency(re2 ARCHIVE r/re2/re2_20220601+dfsg.orig.tar.xz  # releases since June 2023 need Abseil
    SHA256 3bc61251da3b0b97be40a8a127818c517c62516e4eda11fc901d29496663df54
    ADD re2/tables.tar.xz re2 PROBE HEADER re2/re2.h LIBRARY re2 OPTIONS -DRE2_BUILD_TESTING=OFF)
  # This archive has the amalgamation of SQLite 3.39.4. SQLite's own archive needs Tcl to make the amalgamation.
  det_dependency(sqlite3 ARCHIVE libd/libdbd-sqlite3-perl/libdbd-sqlite3-perl_1.72.orig.tar.gz
    SHA256 5ca41e61eb52b52bd862a3088b912a75fe70910ac789b9a9983e0a449e94f551
    PROBE HEADER sqlite3.h LIBRARY sqlite3 OVERLAY EXTRACT "*/sqlite3*")
  det_dependency(boost ARCHIVE b/boost1.74/boost1.74_1.74.0+ds1.orig.tar.xz
    SHA256 192f5df504d282cb81288f88232d8af45b64a9ab531e1c7cf8ae955f16f6bb28
    PROBE HEADER boost/beast.hpp OVERLAY EXTRACT "*/libs/*/include/*")
endif()
# foundation uses its SHA-256 if OpenSSL is missing.
det_dependency(libmd ARCHIVE libm/libmd/libmd_1.0.4.orig.tar.xz
  SHA256 f51c921042e34beddeded4b75557656559cf5b1f2448033b4c1eec11c07e530f
  PROBE HEADER openssl/sha.h LIBRARY crypto OVERLAY EXTRACT "*/src/*" "*/include/*")
