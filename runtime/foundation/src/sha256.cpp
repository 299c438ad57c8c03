// OpenSSL's "low level" SHA-256, which it calls deprecated: the EVP interface sets up all of OpenSSL first
// (a millisecond, and openssl.cnf is read), and can't be linked without all of libcrypto.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <det/foundation/sha256.hpp>

#include <array>
#include <openssl/sha.h>

namespace det {

struct Sha256::State {
    SHA256_CTX context;
};

Sha256::Sha256() : state_(std::make_unique<State>()) { SHA256_Init(&state_->context); }

Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;
Sha256::~Sha256() = default;

void Sha256::update(std::string_view bytes) { SHA256_Update(&state_->context, bytes.data(), bytes.size()); }

std::string Sha256::finish() {
    constexpr char digits[] = "0123456789abcdef";
    std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
    SHA256_Final(digest.data(), &state_->context);
    std::string text;
    for (auto const byte : digest) text += {digits[byte >> 4], digits[byte & 15]};
    return text;
}

}  // namespace det
