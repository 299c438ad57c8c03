#pragma once
#include <det/foundation/clock.hpp>
#include <det/foundation/diagnostic.hpp>
#include <det/foundation/environment.hpp>
#include <det/foundation/result.hpp>
#include <det/protocol/document.hpp>
#include <det/protocol/layout.hpp>
#include <det/slurm/client.hpp>
#include <det/tracker/history/view.hpp>

#include <filesystem>
#include <iosfwd>
#include <string>

namespace det::cli {

enum class Format { text, json };
enum class Destination { pipe_or_file, terminal };

/// What a command works with: wired in main, replaced in tests. Answers go to `out`, talk goes to `err`.
struct Session {
    Environment environment;
    std::ostream& out;
    std::ostream& err;
    RenderStyle style;
    Clock& clock;
    slurm::SlurmClient& slurm;
    Format format = Format::text;
    std::filesystem::path cache = {};                     // of this user on this host; empty: none
    Destination destination = Destination::pipe_or_file;  // of the answer

    bool wants_json() const { return format == Format::json; }
    /// The answer as JSON, on lines of its own.
    void answer(Json const& json) const;
    /// One line of talk.
    void say(std::string const& line) const;
    /// Something went on without: told, not fatal.
    void warn(Error error) const;
};

/// Who uses this.
std::string user_name(Environment const& environment);
std::string host_name();

}  // namespace det::cli
