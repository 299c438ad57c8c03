#include <det/preemption/agreement.hpp>

#include <algorithm>
#include <utility>

namespace det::preemption {

Agreement::Agreement(std::vector<Part> parts, std::size_t own, AtOnce at_once)
    : parts_(std::move(parts)), words_(parts_.size()), own_(own), at_once_(at_once) {}

bool Agreement::is_asked_for() const {
    if (parts_[own_] == Part::request) return false;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        if (parts_[i] == Part::request && words_[i].is_notice()) return true;
    }
    return false;
}

bool Agreement::some_voice_had_notice() const {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        if (parts_[i] == Part::voice && words_[i].is_notice_before(call_)) return true;
    }
    return false;
}

/// As far as is known: no voice has said otherwise.
bool Agreement::all_may_have_notice() const {
    if (at_once_ == AtOnce::never || !words_[own_].is_notice()) return false;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        bool const has_spoken = words_[i].call() >= call_;
        if (parts_[i] == Part::voice && has_spoken && !words_[i].is_common_notice_at(call_)) return false;
    }
    return true;
}

void Agreement::begin_call(bool has_notice) {
    ++call_;
    auto& word = words_[own_];
    if (word.is_notice()) return;
    word = has_notice || is_asked_for() ? Word::of_notice(call_) : Word::of_call(call_);
}

std::optional<Agreement::Awaited> Agreement::awaited_to_speak() const {
    bool const speaks_for_requests = parts_[own_] == Part::voice && at_once_ == AtOnce::for_all;
    if (!speaks_for_requests || words_[own_] != Word::of_notice(call_)) return std::nullopt;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        if (parts_[i] == Part::request && !words_[i].is_enough_for(call_ + 1)) return Awaited{i, call_ + 1};
    }
    return std::nullopt;
}

Word Agreement::speak() {
    auto& word = words_[own_];
    if (parts_[own_] == Part::request || word != Word::of_notice(call_)) return word;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        bool const counts = parts_[i] == Part::request && at_once_ == AtOnce::for_all;
        if (counts && !words_[i].is_notice_before(call_ + 1)) return word;
    }
    return word = Word::of_common_notice(call_);
}

std::optional<Agreement::Awaited> Agreement::awaited() const {
    if (some_voice_had_notice()) return std::nullopt;
    bool const waits_for_all = all_may_have_notice();
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        auto const call = waits_for_all && parts_[i] == Part::voice ? call_ + 1 : call_;
        if (!words_[i].is_enough_for(call)) return Awaited{i, call};
    }
    return std::nullopt;
}

bool Agreement::decide() const {
    if (some_voice_had_notice()) return true;
    if (!all_may_have_notice()) return false;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        if (parts_[i] == Part::voice && !words_[i].is_common_notice_at(call_)) return false;
    }
    return true;
}

Result<bool> agree(Agreement& agreement, Board& board, bool has_notice) {
    agreement.begin_call(has_notice);
    while (auto const late = agreement.awaited_to_speak()) {
        DET_TRY_ASSIGN(auto const word, board.await(*late));
        agreement.hear(late->part, word);
    }
    DET_TRY(board.tell(agreement.speak()));
    if (agreement.awaited()) {
        for (std::size_t part = 0; part < agreement.size(); ++part) {
            if (part != agreement.own()) agreement.hear(part, board.look(part));
        }
    }
    while (auto const late = agreement.awaited()) {
        DET_TRY_ASSIGN(auto const word, board.await(*late));
        agreement.hear(late->part, word);
    }
    return agreement.decide();
}

Result<bool> agree_and_pass_on(Agreement& agreement, Board& board, bool has_notice) {
    bool const was_agreed = agreement.decide();
    DET_TRY_ASSIGN(bool const is_agreed, agree(agreement, board, has_notice));
    auto const call = agreement.call();
    if (!was_agreed) DET_TRY(board.pass_on(is_agreed ? Word::of_notice(call) : Word::of_call(call)));
    return was_agreed;
}

}  // namespace det::preemption
