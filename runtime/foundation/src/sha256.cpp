// Uses OpenSSL's deprecated low-level SHA-256. The EVP interface initialises all of OpenSSL first (one
// millisecond, and it reads openssl.cnf), and it can't be linked statically without all of libcrypto.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <det/foundation/sha256.hpp>

#include <array>
#include <openssl/sha.h>

namespace det {

namespace {

using Digest = std::array<unsigned char, SHA256_DIGEST_LENGTH>;

std::string_view view_of(auto const& bytes) {
    return {reinterpret_cast<char const*>(bytes.data()), bytes.size()};
}

std::string in_hex(Digest const& digest) {
    constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for (auto const byte : digest) text += {digits[byte >> 4], digits[byte & 15]};
    return text;
}

Digest digest_of(std::string_view first, std::string_view second = {}) {
    SHA256_CTX context;
    SHA256_Init(&context);
    SHA256_Update(&context, first.data(), first.size());
    SHA256_Update(&context, second.data(), second.size());
    Digest digest{};
    SHA256_Final(digest.data(), &context);
    return digest;
}

}  // namespace

struct Sha256::State {
    SHA256_CTX context;
};

Sha256::Sha256() : state_(std::make_unique<State>()) { SHA256_Init(&state_->context); }

Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;
Sha256::~Sha256() = default;

void Sha256::update(std::string_view bytes) { SHA256_Update(&state_->context, bytes.data(), bytes.size()); }

std::string Sha256::finish() {
    Digest digest{};
    SHA256_Final(digest.data(), &state_->context);
    return in_hex(digest);
}

std::string hmac_sha256(std::string_view key, std::string_view message) {
    std::array<unsigned char, SHA256_CBLOCK> inner{}, outer{};
    auto const long_key = digest_of(key);
    if (key.size() > inner.size()) key = view_of(long_key);
    for (std::size_t i = 0; i < inner.size(); ++i) {
        auto const byte = static_cast<unsigned char>(i < key.size() ? key[i] : 0);
        inner[i] = byte ^ 0x36;
        outer[i] = byte ^ 0x5c;
    }
    return in_hex(digest_of(view_of(outer), view_of(digest_of(view_of(inner), message))));
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return false;
    unsigned difference = 0;
    for (std::size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
    return difference == 0;
}

}  // namespace det
