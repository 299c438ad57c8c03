#pragma once
#include <memory>
#include <string>
#include <string_view>

namespace det {

/// SHA-256 of a stream of bytes.
class Sha256 {
public:
    Sha256();
    Sha256(Sha256&&) noexcept;
    Sha256& operator=(Sha256&&) noexcept;
    ~Sha256();

    void update(std::string_view bytes);
    /// Ends the stream. Returns 64 lower-case hexadecimal digits.
    std::string finish();

private:
    struct State;
    std::unique_ptr<State> state_;
};

/// HMAC-SHA-256 (RFC 2104) as 64 lower-case hexadecimal digits.
std::string hmac_sha256(std::string_view key, std::string_view message);

/// Compares in a time that depends on the sizes, but not on the position of the first difference.
bool equal_in_constant_time(std::string_view a, std::string_view b);

}  // namespace det
