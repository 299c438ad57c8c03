#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>

#include <fmt/format.h>

#include "command.hpp"
#include "completion/existing_names.hpp"
#include "help_pages.hpp"

namespace det::cli {
namespace {

/// zsh separates a word from its description by a colon.
std::string escape_colons(std::string_view text) {
    std::string escaped;
    for (char const c : text) {
        if (c == ':') escaped += '\\';
        escaped += c;
    }
    return escaped;
}

/// Whether bash takes the word as it is. It puts a candidate into the command line without quoting it, and a
/// program may call a metric `$(command)`.
bool is_plain_for_bash(std::string_view word) {
    constexpr std::string_view plain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@%+,=-";
    return word.find_first_not_of(plain) == std::string_view::npos;
}

/// A candidate in the form that the shell's script reads. Names come from files: control characters are
/// escaped.
std::string render(Candidate const& candidate, std::string_view shell) {
    auto const text = escape_control(candidate.text), description = escape_control(candidate.description);
    auto const word = shell == "zsh" ? escape_colons(text) : text;
    if (shell == "bash" || description.empty()) return word;
    return fmt::format("{}{}{}", word, shell == "zsh" ? ':' : '\t', description);
}

class Completion final : public Command {
public:
    std::vector<Option> options() override {
        return {{"shell", &shell_, "the shell", Need::required, {"bash", "zsh", "fish"}},
                {"words", &words_, "with --complete: the words behind det-submit"},
                {"--complete", &completes_, "print what can complete the last of these words"}};
    }

    Outcome run(Session& session) override {
        if (!completes_ && !words_.empty()) return Error{codes::usage, "words are for --complete only"};
        if (completes_) {
            print_candidates(session);
        } else if (session.wants_json()) {
            session.answer(Json{{"shell", shell_}, {"script", script()}});
        } else {
            session.out << script();
        }
        return ExitCode::done;
    }

private:
    std::string_view script() const { return find_page("completion/det-submit." + shell_); }

    void print_candidates(Session& session) const {
        ExistingNames names(session);
        auto const candidates = find_candidates(words_, names);
        if (session.wants_json()) {
            auto list = Json::array();
            for (auto const& each : candidates)
                list.push_back({{"text", each.text}, {"description", each.description}});
            session.answer(list);
            return;
        }
        for (auto const& each : candidates) {
            if (shell_ != "bash" || is_plain_for_bash(each.text)) session.out << render(each, shell_) << '\n';
        }
    }

    std::string shell_;
    std::vector<std::string> words_;
    bool completes_ = false;
};

}  // namespace

std::unique_ptr<Command> make_completion() { return std::make_unique<Completion>(); }

}  // namespace det::cli
