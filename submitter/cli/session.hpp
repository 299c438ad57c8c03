#pragma once
#include <det/experiment/context.hpp>
#include <det/protocol/document.hpp>

#include <functional>
#include <iosfwd>
#include <set>
#include <string>

namespace det::cli {

enum class Format { text, json };
enum class Destination { pipe_or_file, terminal };

/// The context of a command: streams, format and the context of the use cases. main makes it from the
/// process, tests make it from fakes. Answers go to `out`, messages to `err`.
struct Session final : experiment::Context {
    Session(Environment environment_of_user, std::ostream& answers, std::ostream& messages,
            RenderStyle render_style, Clock& clock_used, slurm::SlurmClient& client,
            Format answer_format = Format::text, std::filesystem::path cache_directory = {},
            Destination answer_destination = Destination::pipe_or_file);

    void on_warnings(Diagnostics const& warnings) const override;
    void on_message(std::string const& line) const override { say(line); }
    /// Prints the error of a damaged journal, once per journal. The command's exit code is then that of the
    /// error: see run_command().
    void on_damage(Error error) const override;
    bool has_found_damage() const { return !damage_.empty(); }

    bool wants_json() const { return format == Format::json; }
    /// Prints the answer as JSON.
    void answer(Json const& json) const;
    /// Prints the answer in the wanted format.
    void answer(Json const& json, std::string_view text) const;
    /// Prints the JSON answer, or one line to `err` if text is wanted.
    void print_confirmation(Json const& json, std::string const& line) const;
    /// Prints one line to `err`.
    void say(std::string const& line) const;
    /// Prints the question to `err` and returns whether the user's line says yes. \pre can_ask
    bool ask_yes_no(std::string const& question) const;
    /// Asks before something is removed. Without a terminal --yes (`is_sure`) is needed: codes::usage.
    /// Returns false, with a message, if the user says no.
    Result<bool> confirm_removal(bool is_sure, std::string const& what) const;

    std::ostream& out;
    std::ostream& err;
    RenderStyle style;
    Format format;
    Destination destination;      // of the answer
    std::istream* in = nullptr;   // standard input, if the command may read it
    bool has_named_root = false;  // by --root
    bool can_ask = false;         // the user sees `err` and types into `in`
    /// Runs before a message is printed to `err`: removes a line that is redrawn. May be empty.
    std::function<void()> before_message = {};

private:
    mutable std::set<std::string> damage_;  // the messages that on_damage() has printed
};

}  // namespace det::cli
