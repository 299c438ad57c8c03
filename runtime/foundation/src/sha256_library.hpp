// SHA-256 of the library that this build uses: OpenSSL's low-level functions, or libmd's where OpenSSL is
// missing. OpenSSL's EVP interface is not used: it initialises all of OpenSSL first (one millisecond, and it
// reads openssl.cnf), and it can't be linked statically without all of libcrypto.
#pragma once
#include <string_view>

#ifdef DET_SHA256_OF_LIBMD
#include <sha2.h>
#else
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>
#endif

namespace det {

#ifdef DET_SHA256_OF_LIBMD
using Sha256Context = SHA2_CTX;
inline constexpr std::size_t sha256_block_bytes = SHA256_BLOCK_LENGTH;

inline void sha256_init(Sha256Context& context) { SHA256Init(&context); }
inline void sha256_update(Sha256Context& context, std::string_view bytes) {
    SHA256Update(&context, reinterpret_cast<unsigned char const*>(bytes.data()), bytes.size());
}
inline void sha256_final(Sha256Context& context, unsigned char* digest) { SHA256Final(digest, &context); }
#else
using Sha256Context = SHA256_CTX;
inline constexpr std::size_t sha256_block_bytes = SHA256_CBLOCK;

inline void sha256_init(Sha256Context& context) { SHA256_Init(&context); }
inline void sha256_update(Sha256Context& context, std::string_view bytes) {
    SHA256_Update(&context, bytes.data(), bytes.size());
}
inline void sha256_final(Sha256Context& context, unsigned char* digest) { SHA256_Final(digest, &context); }
#endif

}  // namespace det
