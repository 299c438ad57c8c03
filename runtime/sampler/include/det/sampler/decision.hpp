#pragma once
#include <det/foundation/clock.hpp>
#include <det/foundation/result.hpp>
#include <det/protocol/document.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What the program of `searcher.command` has answered, as it is recorded. PROTOCOL.md describes both.
namespace det::sampler {

/// What a sampler is asked.
enum class Question : std::uint8_t {
    begin,   // the hyperparameters of a trial that begins
    report,  // whether trials train on, now that one of them has reported a validation
    // With searcher.sets_lengths:
    trained,  // what follows, now that a trial has trained to its length
    exited,   // what follows, now that a trial has ended without that
};
std::string_view to_string(Question question);

/// An answer of the sampler, as its one line says it.
struct Answer {
    std::optional<JsonValue> hyperparameters = {};  // of the trial that begins
    std::optional<std::string> stop = {};           // why no further trial begins
    std::vector<std::uint32_t> prune = {};          // trials that end now
    std::optional<JsonValue> note = {};             // what the sampler wants to know about the trial later
    // With searcher.sets_lengths:
    std::map<std::uint32_t, std::uint64_t> lengths = {};  // how far trials train, from their beginning
    std::vector<std::uint32_t> close = {};                // trials that train no further
    std::optional<std::uint32_t> can_begin = {};          // number of trials that may have begun by now
    std::optional<JsonValue> state = {};  // what the sampler wants to know when it is asked next
    bool waits = false;                   // no trial begins now; not recorded
};

/// A recorded answer.
struct Decision {
    UtcTime time = {};
    std::string job = {};  // the array task that asked: "123_4"
    Question question = Question::begin;
    std::uint32_t trial = 0;  // that the question is about
    Answer answer = {};
};

std::string render_decision(Decision const& decision);
/// codes::damaged, codes::newer_format
Result<Decision> parse_decision(std::string_view text);

/// All recorded decisions of an experiment, in their order.
struct Decisions {
    std::vector<Decision> all = {};

    /// The answer that a trial began with: hyperparameters or `stop`; nullptr if there is none yet.
    Decision const* find_begin(std::uint32_t trial) const;
    /// Why no further trial begins; nullptr while trials begin.
    std::string const* find_stop() const;
    /// How many lengths the trial has got so far.
    std::uint64_t count_lengths(std::uint32_t trial) const;
    /// The last of them; nullopt if there is none.
    std::optional<std::uint64_t> find_length(std::uint32_t trial) const;
    /// Whether the trial trains no further: the sampler has closed it, or stopped the search.
    bool is_closed(std::uint32_t trial) const;
    /// What the sampler has kept last; nullptr if it has kept nothing.
    JsonValue const* find_state() const;
    /// The decision that ended a running trial; nullptr if none did.
    Decision const* find_prune(std::uint32_t trial) const;
};

}  // namespace det::sampler
