# Writes OUTPUT, which defines det::transport::transport_abi: BUILD (version, compiler, build type, sanitizers) and a
# checksum of HEADERS.
# cmake -DHEADERS=a.hpp;b.hpp -DBUILD=text -DOUTPUT=abi.cpp -P write_abi.cmake
set(sums "")
foreach(header IN LISTS HEADERS)
  file(SHA256 "${header}" sum)
  string(APPEND sums "${sum}")
endforeach()
string(SHA256 sum "${sums}")
string(SUBSTRING "${sum}" 0 16 sum)
set(text "namespace det::transport {
extern char const transport_abi[];
char const transport_abi[] = \"${BUILD} ${sum}\";
}
")
file(WRITE "${OUTPUT}" "${text}")
