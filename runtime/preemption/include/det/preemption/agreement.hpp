#pragma once
#include <det/foundation/result.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace det::preemption {

/// What a rank tells the others: how many calls of should_preempt() it has begun without a notice, or at
/// which call it had one. From then on it stays as it is: no later word is needed. One number, so that it is
/// one store and one load in memory that ranks share.
class Word {
public:
    constexpr Word() = default;
    static constexpr Word of_call(std::uint64_t call) { return Word(call << 2); }
    static constexpr Word of_notice(std::uint64_t call) { return Word(call << 2 | notice_bit); }
    /// All whom it speaks for had a notice when they began that call.
    static constexpr Word of_common_notice(std::uint64_t call) {
        return Word(call << 2 | notice_bit | common_bit);
    }
    static constexpr Word from(std::uint64_t value) { return Word(value); }

    constexpr std::uint64_t value() const { return value_; }
    constexpr std::uint64_t call() const { return value_ >> 2; }
    constexpr bool is_notice() const { return (value_ & notice_bit) != 0; }
    /// Whether it says all that call `call` of another rank has to know: what was so one call before.
    constexpr bool is_enough_for(std::uint64_t call) const { return is_notice() || this->call() + 1 >= call; }
    constexpr bool is_notice_before(std::uint64_t call) const { return is_notice() && this->call() < call; }
    constexpr bool is_common_notice_at(std::uint64_t call) const { return *this == of_common_notice(call); }
    friend constexpr bool operator==(Word, Word) = default;

private:
    static constexpr std::uint64_t notice_bit = 1, common_bit = 2;

    explicit constexpr Word(std::uint64_t value) : value_(value) {}
    std::uint64_t value_ = 0;  // the bits, and above them the call
};

/// How ranks find at which call all of them stop. Call k is true, on every rank, if a voice had a notice at
/// its call k-1 or before. So a rank only waits for one that is more than one call behind it, and what others
/// say has the time of a whole step to arrive.
///
/// It is true too if all ranks had a notice when they began it: Slurm tells all nodes at once, and then no
/// step is trained in vain. Only who has a notice can find that out, and waits for what the others say of the
/// same call; who has none knows that it is not so, and goes on. Pure.
class Agreement {
public:
    /// What is listened to. A voice counts. A request is a rank of our node that the voice of the node speaks
    /// for: its notice becomes that of the voice.
    enum class Part { voice, request };
    /// For which ranks' notices the call at which they come is true, not the next one only.
    enum class AtOnce {
        never,
        for_voices,  // requests hear of it from their voice later
        for_all,     // requests decide as voices do
    };
    struct Awaited {
        std::size_t part = 0;
        std::uint64_t call = 0;  // for which its word is to be enough
    };

    Agreement(std::vector<Part> parts, std::size_t own, AtOnce at_once = AtOnce::for_all);

    /// Begins the next call.
    void begin_call(bool has_notice);
    /// Whose word is needed before ours is told.
    std::optional<Awaited> awaited_to_speak() const;
    /// What to tell the others.
    Word speak();
    void hear(std::size_t part, Word word) { words_[part] = word; }
    /// Who has told too little for this call; none: decide. A notice that counts is enough by itself.
    std::optional<Awaited> awaited() const;
    /// What this call returns, when nobody is awaited.
    bool decide() const;

    Word heard(std::size_t part) const { return words_[part]; }
    std::uint64_t call() const { return call_; }
    std::size_t size() const { return parts_.size(); }
    std::size_t own() const { return own_; }

private:
    bool is_asked_for() const;
    bool some_voice_had_notice() const;
    bool all_may_have_notice() const;

    std::vector<Part> parts_;
    std::vector<Word> words_;
    std::size_t own_;
    AtOnce at_once_;
    std::uint64_t call_ = 0;
};

/// How words get from rank to rank.
class Board {
public:
    virtual ~Board() = default;
    /// To all who listen to us. Waits for nobody.
    virtual Status tell(Word word) = 0;
    /// The newest word of a part that is here, or what was looked at last.
    virtual Word look(std::size_t part) = 0;
    /// The same, once it is enough for that call. An Error when that rank is lost.
    virtual Result<Word> await(Agreement::Awaited awaited) = 0;
    /// What voices have agreed on, to those of our node who hear of it from us alone.
    virtual Status pass_on(Word agreed) = 0;
};

/// One call: whether all ranks stop here.
Result<bool> agree(Agreement& agreement, Board& board, bool has_notice);
/// The same for voices who pass on what they agree on: whoever hears of it from them agrees with them as its
/// only voice, so all stop one call later, k for a notice at call k-2 or before.
Result<bool> agree_and_pass_on(Agreement& agreement, Board& board, bool has_notice);

}  // namespace det::preemption
