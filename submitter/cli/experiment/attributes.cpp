// The commands that change an attribute of an experiment which no trial reads: name, description, notes,
// labels, archived; and the packing of archived experiments.
#include <det/experiment/open_experiment.hpp>
#include <det/experiment/pack_experiment.hpp>
#include <det/protocol/json.hpp>
#include <det/tracker/history/attributes.hpp>

#include <filesystem>
#include <fmt/format.h>
#include <optional>

#include "command.hpp"

namespace det::cli {
namespace {

namespace changes = tracker::history::changes;
using tracker::history::Attributes;

struct AttributeChange {
    std::string_view value_name;  // name of the second argument; empty: the command has none
    changes::Change (*make)(std::string const& value);
    /// Returns an error if the change is refused; null: the change is always accepted.
    Status (*check)(Attributes const& now, lifecycle::State state, std::string const& value);
    std::string_view done;  // "Archived" in the answer "Archived experiment 7"
};

/// Appends an event to the experiment.
class ChangeAttribute final : public Command {
public:
    explicit ChangeAttribute(AttributeChange const& change, std::string id = "")
        : change_(change), id_(std::move(id)) {}

    std::vector<Option> options() override {
        std::vector<Option> options{{"id", &id_, "the experiment", Need::required}};
        if (!change_.value_name.empty())
            options.push_back({std::string(change_.value_name), &value_, "the new value", Need::required});
        return options;
    }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto const experiment,
                       experiment::open_experiment(id_, experiment::SlurmAnswer::optional, session));
        auto const now = tracker::history::attributes_of(experiment.view.record);
        auto possible = change_.check ? change_.check(now, experiment.view.state, value_) : Status(Ok{});
        if (!possible)
            return std::move(possible).error().while_doing("changing experiment " +
                                                           to_string(experiment.id()));
        auto [kind, body] = change_.make(value_);
        DET_TRY(experiment::record_event(experiment, kind, std::move(body), session));
        session.print_confirmation(Json{{"id", experiment.id().value}},
                                   fmt::format("{} experiment {}", change_.done, experiment.id().value));
        return ExitCode::done;
    }

private:
    AttributeChange change_;
    std::string id_, value_;
};

Status check_over(Attributes const&, lifecycle::State state, std::string const&) {
    if (lifecycle::is_terminal(state)) return Ok{};
    return Error{codes::wrong_state,
                 fmt::format("it is {}: only an experiment that has ended can be archived", to_string(state)),
                 "end it first with 'det-submit experiment cancel' or 'kill'"};
}

Status check_named(Attributes const&, lifecycle::State, std::string const& value) {
    if (!value.empty()) return Ok{};
    return Error{codes::usage, "a name has at least one character"};
}

Status check_label(Attributes const&, lifecycle::State, std::string const& value) {
    if (!value.empty()) return Ok{};
    return Error{codes::usage, "a label has at least one character"};
}

Status check_labelled(Attributes const& now, lifecycle::State, std::string const& value) {
    if (now.labels.contains(value)) return Ok{};
    return Error{codes::no_such_label, fmt::format("it has no label '{}'", value),
                 now.labels.empty() ? "it has none" : fmt::format("it has: {}", fmt::join(now.labels, ", "))};
}

/// Hides an experiment, or packs it into one file or unpacks it, which does not change whether it is hidden.
class ArchiveExperiment final : public Command {
public:
    std::vector<Option> options() override {
        return {{"id", &id_, "the experiment", Need::required},
                {"--pack", &packs_, "replace its files by one compressed file"},
                {"--unpack", &unpacks_, "replace that file by the files again"},
                {"-o,--output-dir", &directory_, "with --pack: the directory for the file"}};
    }

    Outcome run(Session& session) override {
        if (packs_ && unpacks_) return Error{codes::usage, "--pack and --unpack exclude each other"};
        if (directory_ && !packs_) return Error{codes::usage, "--output-dir belongs to --pack"};
        if (packs_) return pack(session);
        if (unpacks_) return unpack(session);
        return ChangeAttribute({"", [](auto const&) { return changes::archive(); }, check_over, "Archived"},
                               id_)
            .run(session);
    }

private:
    Outcome pack(Session& session) const {
        std::optional<std::filesystem::path> directory;
        std::error_code failure;
        if (directory_) directory = std::filesystem::absolute(*directory_, failure).lexically_normal();
        if (failure) return os_error("find the current directory", failure.value());
        DET_TRY_ASSIGN(auto const report, experiment::pack_experiment(id_, directory, session));
        session.print_confirmation(
            to_json(report),
            fmt::format("Packed experiment {}: {} files and directories, {} bytes, into the {} "
                        "bytes of '{}'",
                        id_, report.entries, report.contents_bytes, report.pack_bytes, report.file.string()));
        return ExitCode::done;
    }

    Outcome unpack(Session& session) const {
        DET_TRY_ASSIGN(auto const report, experiment::unpack_experiment(id_, session));
        session.print_confirmation(
            to_json(report), fmt::format("Unpacked experiment {}: {} files and directories, {} bytes", id_,
                                         report.entries, report.contents_bytes));
        return ExitCode::done;
    }

    Json to_json(experiment_pack::PackReport const& report) const {
        return {{"id", parse_experiment_id(id_)->value},
                {"pack", report.file.string()},
                {"entries", report.entries},
                {"size_bytes", report.contents_bytes},
                {"packed_size_bytes", report.pack_bytes}};
    }

    std::string id_;
    bool packs_ = false, unpacks_ = false;
    std::optional<std::string> directory_;
};

std::unique_ptr<Command> make_change(AttributeChange const& change) {
    return std::make_unique<ChangeAttribute>(change);
}

}  // namespace

std::unique_ptr<Command> make_experiment_archive() { return std::make_unique<ArchiveExperiment>(); }
std::unique_ptr<Command> make_experiment_unarchive() {
    return make_change({"", [](auto const&) { return changes::unarchive(); }, nullptr, "Unarchived"});
}
std::unique_ptr<Command> make_experiment_set_name() {
    return make_change({"name", changes::set_name, check_named, "Set name of"});
}
std::unique_ptr<Command> make_experiment_set_description() {
    return make_change({"description", changes::set_description, nullptr, "Set description of"});
}
std::unique_ptr<Command> make_experiment_set_notes() {
    return make_change({"notes", changes::set_notes, nullptr, "Set notes of"});
}
std::unique_ptr<Command> make_experiment_label_add() {
    return make_change({"label", changes::add_label, check_label, "Labelled"});
}
std::unique_ptr<Command> make_experiment_label_remove() {
    return make_change({"label", changes::remove_label, check_labelled, "Removed a label of"});
}

}  // namespace det::cli
