#pragma once
#include <cerrno>
#include <cstdint>
#include <iterator>
#include <random>
#include <string_view>

namespace det::faults {

/// Loses replies of the server: an operation is carried out, and the client does not learn of it.
class LostReplies {
public:
    enum class Then {
        nothing,  // no reply is lost
        repeat,   // the client sends the request again, and the server carries it out a second time
        error,    // the client gives up after its time limit, as with a soft mount
    };
    /// \param percent of the replies are lost
    void set(Then then, unsigned percent, std::uint32_t seed) {
        then_ = then;
        percent_ = percent;
        random_.seed(seed);
    }
    std::uint64_t count() const { return count_; }

    /// Carries out an operation of the server. Returns its errno, or that of the client; 0: success.
    /// \param operation returns an errno
    template <class Operation>
    int carry_out(Operation const& operation) {
        int const result = operation();
        if (!is_next_lost()) return result;
        return then_ == Then::repeat ? operation() : pick_error();
    }
    /// The same of an operation that has the same result if it is repeated.
    template <class Operation>
    int carry_out_idempotent(Operation const& operation) {
        int const result = operation();
        return then_ == Then::error && is_next_lost() ? pick_error() : result;
    }

private:
    bool is_next_lost() {
        if (then_ == Then::nothing || random_() % 100 >= percent_) return false;
        ++count_;
        return true;
    }
    int pick_error() {
        constexpr int errors[] = {EIO, ESTALE, ETIMEDOUT};
        return errors[random_() % std::size(errors)];
    }

    Then then_ = Then::nothing;
    unsigned percent_ = 0;
    std::uint64_t count_ = 0;
    std::mt19937 random_;
};

}  // namespace det::faults
