#include "session.hpp"

#include <det/foundation/text.hpp>

#include <fmt/format.h>
#include <istream>
#include <ostream>

#include "output/json_text.hpp"

namespace det::cli {

Session::Session(Environment environment_of_user, std::ostream& answers, std::ostream& messages,
                 RenderStyle render_style, Clock& clock_used, slurm::SlurmClient& client,
                 Format answer_format, std::filesystem::path cache_directory, Destination answer_destination)
    : Context(std::move(environment_of_user), clock_used, client, std::move(cache_directory)),
      out(answers),
      err(messages),
      style(std::move(render_style)),
      format(answer_format),
      destination(answer_destination) {}

void Session::on_warnings(Diagnostics const& warnings) const {
    if (before_message) before_message();
    print(err, warnings, style);
}

void Session::on_damage(Error error) const {
    if (!damage_.insert(error.message).second) return;
    if (before_message) before_message();
    print(err, error, style);
}

void Session::answer(Json const& json) const { out << json_text(json, 1) << '\n'; }

void Session::answer(Json const& json, std::string_view text) const {
    if (wants_json()) return answer(json);
    out << text;
}

void Session::print_confirmation(Json const& json, std::string const& line) const {
    if (wants_json()) return answer(json);
    say(line);
}

bool Session::ask_yes_no(std::string const& question) const {
    err << escape_control(question) << " [y/N] " << std::flush;
    std::string line;
    std::getline(*in, line);
    auto const answer = to_lower(trim(line));
    return answer == "y" || answer == "yes";
}

Result<bool> Session::confirm_removal(bool is_sure, std::string const& what) const {
    if (is_sure) return true;
    if (!can_ask || in == nullptr)
        return Error{codes::usage, fmt::format("{} would be removed", what),
                     "add --yes to do it: it can't be undone"};
    if (ask_yes_no(fmt::format("{} will be removed. Remove?", what))) return true;
    say("nothing was removed");
    return false;
}

void Session::say(std::string const& line) const {
    if (before_message) before_message();
    err << line + '\n' << std::flush;
}

}  // namespace det::cli
