#include <det/config/sbatch_args.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>
#include <fmt/format.h>

#include "sbatch_options.hpp"

namespace det::config {
namespace {

constexpr std::string_view blanks = " \t";

/// The command that gets the options.
struct Command {
    std::string_view name;
    std::span<SbatchOption const> options;
    std::string_view takes_words_for;  // what the command takes a word for that is no option
};

Command command_of(SbatchUse use) {
    if (use == SbatchUse::step)
        return {.name = "srun", .options = srun_options(), .takes_words_for = "the program"};
    return {.name = "sbatch", .options = sbatch_options(), .takes_words_for = "the script"};
}

SbatchOption const* find_letter(std::span<SbatchOption const> rows, char letter) {
    auto const found =
        std::find_if(rows.begin(), rows.end(), [&](auto const& row) { return row.letter == letter; });
    return found != rows.end() ? &*found : nullptr;
}

/// \return The option of that name, else all options that begin with it, because Slurm's commands accept an
/// unambiguous abbreviation.
std::vector<SbatchOption const*> find_options(std::span<SbatchOption const> rows, std::string_view name) {
    std::vector<SbatchOption const*> found;
    for (auto const& row : rows) {
        if (row.name == name) return {&row};
        if (row.name.starts_with(name)) found.push_back(&row);
    }
    return found;
}

/// Removes quotes, which group a value in a #SBATCH line. No shell removes them here.
std::string_view without_quotes(std::string_view value) {
    bool const is_quoted = value.size() >= 2 && (value.front() == '"' || value.front() == '\'') &&
                           value.find(value.front(), 1) == value.size() - 1;
    return is_quoted ? value.substr(1, value.size() - 2) : value;
}

/// True for "gpu:4", "gres/gpu=4", "license:1,gpu". Also for "none", which removes det-submit's own request,
/// and for "help" and "list", which only print.
bool asks_for_gpus(std::string_view gres) {
    constexpr std::string_view words[] = {"gpu", "none", "help", "list"};
    for (auto part : split(gres, ',')) {
        part = trim(part);
        if (part.starts_with("gres:") || part.starts_with("gres/")) part.remove_prefix(5);
        auto const name = part.substr(0, part.find_first_of(":=/"));
        if (std::find(std::begin(words), std::end(words), name) != std::end(words)) return true;
    }
    return false;
}

/// Parses the items as getopt does.
class Reader {
public:
    Reader(std::span<std::string const> items, SbatchUse use)
        : items_(items), use_(use), command_(command_of(use)) {}

    SbatchArgs read() && {
        for (at_ = 0; at_ < items_.size(); ++at_) {
            start_ = at_;
            auto const item = trim(items_[at_]);
            bool const is_long = item.size() > 2 && item.starts_with("--");
            bool const is_short = item.size() > 1 && item[0] == '-' && item[1] != '-';
            if (is_long) {
                read_long(item.substr(2));
            } else if (is_short) {
                read_letters(item.substr(1));
            } else if (use_ == SbatchUse::batch_script) {
                result_.word = at_;
                break;
            } else {
                refuse_word(item);
            }
        }
        return std::move(result_);
    }

private:
    void read_long(std::string_view body) {
        auto const end = std::min(body.find('='), body.find_first_of(blanks));
        auto const name = body.substr(0, end);
        std::optional<std::string> value;
        if (end != std::string_view::npos) value = without_quotes(trim(body.substr(end + 1)));
        auto const options = find_options(command_.options, name);
        if (options.empty()) return add_unknown(name, std::move(value));
        if (auto const* option = choose(options, name)) take(*option, std::move(value));
    }

    /// Reads an item of short options: "-N4", "-N 4", "-vN4". After "-N" the next item is the value.
    void read_letters(std::string_view letters) {
        while (!letters.empty()) {
            auto const* option = find_letter(command_.options, letters[0]);
            if (option == nullptr)
                return refuse(fmt::format("{} has no option '-{}'", command_.name, letters[0]),
                              "write each option as an item");
            letters.remove_prefix(1);
            std::optional<std::string> value;
            if (option->value != SbatchValue::none && !letters.empty()) {
                value = without_quotes(trim(letters));
                letters = {};
            }
            take(*option, std::move(value));
        }
    }

    void take(SbatchOption const& option, std::optional<std::string> value) {
        if (!option.is_users(use_)) {
            if (option.value == SbatchValue::required && !value) ++at_;
            refuse(fmt::format("'{}' gives --{}, which det-submit sets itself", written(), option.name),
                   std::string(option.instead));
            result_.refused.back().det_submits = option.name;
            return;
        }
        if (option.value == SbatchValue::none && value)
            return refuse(fmt::format("--{} takes no value, found '{}'", option.name, *value),
                          "remove the value");
        if (option.value == SbatchValue::required && !value) value = next_item();
        // sbatch accepts "--account=" in a header that has yet to be filled in.
        bool const may_be_empty = use_ == SbatchUse::batch_script;
        if (option.value == SbatchValue::required && (!value || (value->empty() && !may_be_empty)))
            return refuse(fmt::format("--{} needs a value", option.name),
                          fmt::format("write --{}=VALUE", option.name));
        if (use_ == SbatchUse::batch_script) return add(std::string(option.name), std::move(value));
        // Slurm does not preempt jobs that have --exclusive=user or --exclusive=mcs.
        if (option.name == "exclusive" && value)
            return refuse(fmt::format("--exclusive takes no value here, found '{}'", *value),
                          "set 'slurm: {exclusive: true}' for whole nodes, or false for shared ones");
        bool const has_gpus =
            (option.name == "gres" || option.name == "tres-per-task") && asks_for_gpus(*value);
        if (has_gpus) {
            return refuse(fmt::format("'{}' asks for GPUs, which det-submit asks for itself", written()),
                          std::string(find_options(command_.options, "gpus").front()->instead));
        }
        add(std::string(option.name), std::move(value));
    }

    void add(std::string name, std::optional<std::string> value) {
        result_.args.push_back({std::move(name), std::move(value), start_});
    }

    /// Adds an option that sbatch_options() does not have; a site's plugin may have added it to sbatch. Its
    /// value is the next item, unless that begins with '-'.
    void add_unknown(std::string_view name, std::optional<std::string> value) {
        bool const is_followed = at_ + 1 < items_.size() && !items_[at_ + 1].starts_with('-');
        if (!value && is_followed) value = next_item();
        add(std::string(name), std::move(value));
    }

    /// Selects an option, preferably one that det-submit sets itself.
    /// \return nullptr if it is refused.
    SbatchOption const* choose(std::vector<SbatchOption const*> const& options, std::string_view name) {
        auto const own = std::find_if(options.begin(), options.end(),
                                      [&](auto* option) { return !option->is_users(use_); });
        if (own != options.end() && use_ != SbatchUse::batch_script) return *own;
        if (options.size() == 1) return options.front();
        std::string names;
        for (auto const* option : options)
            names += fmt::format("{}--{}", names.empty() ? "" : ", ", option->name);
        refuse(fmt::format("'--{}' may be any of {}", name, names), "write the whole name");
        return nullptr;
    }

    void refuse_word(std::string_view item) {
        auto const name = item.substr(0, std::min(item.find('='), item.find_first_of(blanks)));
        auto const options = find_options(command_.options, name);
        bool const is_name = options.size() == 1 && options.front()->name == name;
        refuse(fmt::format("'{}' is no option: {} would take it for {}", item, command_.name,
                           command_.takes_words_for),
               is_name ? fmt::format("write '--{}'", item) : "options begin with '--'");
    }

    std::optional<std::string> next_item() {
        if (at_ + 1 >= items_.size()) return std::nullopt;
        return std::string(without_quotes(trim(items_[++at_])));
    }

    std::string written() const {
        auto const last = std::min(at_, items_.size() - 1);
        return join(items_.subspan(start_, last - start_ + 1), " ");
    }
    void refuse(std::string message, std::string hint) {
        result_.refused.push_back({start_, std::move(message), std::move(hint)});
    }

    std::span<std::string const> items_;
    SbatchUse use_;
    Command command_;
    std::size_t start_ = 0;  // the item in which the option began
    std::size_t at_ = 0;
    SbatchArgs result_;
};

}  // namespace

std::string SbatchArg::text() const { return value ? fmt::format("--{}={}", name, *value) : "--" + name; }

std::optional<std::string> SbatchArgs::find(std::string_view name) const {
    auto const found =
        std::find_if(args.rbegin(), args.rend(), [&](auto const& arg) { return arg.name == name; });
    return found != args.rend() ? found->value : std::nullopt;
}

SbatchArgs parse_sbatch_args(std::span<std::string const> items, SbatchUse use) {
    return Reader(items, use).read();
}

}  // namespace det::config
