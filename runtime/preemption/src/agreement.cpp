#include <det/preemption/agreement.hpp>

#include <algorithm>
#include <utility>

namespace det::preemption {

Agreement::Agreement(std::vector<Part> parts, std::size_t own)
    : parts_(std::move(parts)), words_(parts_.size()), own_(own) {}

bool Agreement::is_asked_for() const {
    if (parts_[own_] == Part::request) return false;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        if (parts_[i] == Part::request && words_[i].is_notice()) return true;
    }
    return false;
}

Word Agreement::begin_call(bool has_notice) {
    ++call_;
    auto& word = words_[own_];
    if (word.is_notice()) return word;
    word = has_notice || is_asked_for() ? Word::of_notice(call_) : Word::of_call(call_);
    return word;
}

std::optional<std::size_t> Agreement::awaited() const {
    std::optional<std::size_t> late;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        if (parts_[i] == Part::voice && words_[i].is_notice_before(call_)) return std::nullopt;
        if (!late && !words_[i].is_enough_for(call_)) late = i;
    }
    return late;
}

bool Agreement::decide() const {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        if (parts_[i] == Part::voice && words_[i].is_notice_before(call_)) return true;
    }
    return false;
}

Result<bool> agree(Agreement& agreement, Board& board, bool has_notice) {
    DET_TRY(board.tell(agreement.begin_call(has_notice)));
    auto late = agreement.awaited();
    for (std::size_t part = 0; late && part < agreement.size(); ++part) {
        if (part != agreement.own()) agreement.hear(part, board.look(part));
    }
    for (late = agreement.awaited(); late; late = agreement.awaited()) {
        DET_TRY_ASSIGN(auto const word, board.await(*late, agreement.call()));
        agreement.hear(*late, word);
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
