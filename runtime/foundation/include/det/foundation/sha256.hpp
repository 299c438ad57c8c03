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
    /// 64 lower-case hexadecimal digits. Ends the stream.
    std::string finish();

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace det
