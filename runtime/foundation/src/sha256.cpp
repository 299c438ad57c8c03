#include <det/foundation/sha256.hpp>

#include <array>

#include "sha256_library.hpp"

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
    Sha256Context context;
    sha256_init(context);
    sha256_update(context, first);
    sha256_update(context, second);
    Digest digest{};
    sha256_final(context, digest.data());
    return digest;
}

}  // namespace

struct Sha256::State {
    Sha256Context context;
};

Sha256::Sha256() : state_(std::make_unique<State>()) { sha256_init(state_->context); }

Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;
Sha256::~Sha256() = default;

void Sha256::update(std::string_view bytes) { sha256_update(state_->context, bytes); }

std::string Sha256::finish() {
    Digest digest{};
    sha256_final(state_->context, digest.data());
    return in_hex(digest);
}

std::string hmac_sha256(std::string_view key, std::string_view message) {
    std::array<unsigned char, sha256_block_bytes> inner{}, outer{};
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
