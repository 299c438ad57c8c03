#include <det/experiment_pack/pack_file.hpp>
#include <det/foundation/count_text.hpp>
#include <det/foundation/files.hpp>
#include <det/journal/reader.hpp>
#include <det/protocol/json.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <optional>
#include <ostream>
#include <unistd.h>

#include "command.hpp"
#include "output/json_text.hpp"

namespace det::cli {
namespace {

constexpr std::size_t dump_limit_bytes = std::size_t{1} << 30;

class Dump final : public Command {
public:
    std::vector<Option> options() override {
        return {{"file", &file_, "any file that det-submit wrote", Need::required}};
    }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto pack, open_if_pack());
        if (pack) {
            DET_TRY(dump_pack(std::move(*pack), session));
            return ExitCode::done;
        }
        DET_TRY_ASSIGN(auto const bytes, read_file(file_, dump_limit_bytes));
        auto const outcome =
            bytes.starts_with("{") ? dump_document(bytes, session) : dump_journal(bytes, session);
        if (outcome) return ExitCode::done;
        auto error = outcome.error();
        return std::move(error).while_doing(fmt::format("reading '{}'", file_));
    }

private:
    static Status dump_document(std::string_view bytes, Session& session) {
        DET_TRY_ASSIGN(auto const document, parse_any_document(bytes));
        session.answer(Json{{"det", document.claim}, {"body", document.body}});
        return Ok{};
    }

    /// The file, if it is the pack of an experiment, which is not read as a whole.
    Result<std::optional<UniqueFd>> open_if_pack() const {
        UniqueFd file(::open(file_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
        char begin[8];
        auto const count = file ? ::pread(file.get(), begin, sizeof begin, 0) : -1;
        bool const is_pack = count > 0 && journal::is_pack({begin, static_cast<std::size_t>(count)});
        return is_pack ? std::optional(std::move(file)) : std::nullopt;
    }

    /// Prints the summary and an entry per line, after all checksums were compared.
    Status dump_pack(UniqueFd file, Session& session) const {
        DET_TRY_ASSIGN(auto head, journal::read_pack_head(std::move(file), file_));
        DET_TRY_ASSIGN(auto const pack, experiment_pack::PackFile::load(std::move(head)));
        DET_TRY(pack.verify());
        auto const& summary = pack.head.summary;
        session.out << json_text(Json{{"experiment", summary.experiment.value},
                                      {"manifest_sums", Json(summary.manifest_sums)},
                                      {"sha256", pack.sha256}})
                    << '\n'
                    << experiment_pack::render_index(pack.index);
        return Ok{};
    }

    /// Prints one record per line. Reports a torn tail as a message and damage as an error.
    static Status dump_journal(std::string_view bytes, Session& session) {
        DET_TRY_ASSIGN(auto const contents, journal::parse_journal(bytes));
        for (auto const& record : contents.records) session.out << json_text(to_json(record)) << '\n';
        if (contents.skipped > 0)
            session.say(count_text(contents.skipped, "record") + " of types that this program does not know");
        auto const rest = bytes.size() - contents.good_size_bytes;
        if (contents.tail == journal::FrameState::torn)
            session.say("torn tail of " + count_text(rest, "byte"));
        if (contents.damage.empty()) return Ok{};
        for (auto const& [offset, size] : contents.damage)
            session.say(fmt::format("at byte {}: {} damaged bytes, whose records are missing", offset, size));
        return Error{codes::journal_damaged, "the journal is damaged"};
    }

    std::string file_;
};

}  // namespace

std::unique_ptr<Command> make_dump() { return std::make_unique<Dump>(); }

}  // namespace det::cli
