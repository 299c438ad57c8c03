// det-bench: measures the performance of a site. The only subcommand is `collectives`.
#include <det/core/context.hpp>
#include <det/foundation/count_text.hpp>
#include <det/foundation/diagnostic.hpp>
#include <det/protocol/launcher_environment.hpp>

#include <exception>
#include <fmt/format.h>
#include <iostream>

#include "help_pages.hpp"
#include "local_ranks.hpp"
#include "measure_collectives.hpp"

namespace {

using namespace det;
using namespace det::measure;
using collectives::DistributedContext;
using Arguments = std::vector<std::string>;

int fail(Error const& error) {
    print(std::cerr, error, {Colour::never, "det-bench"});
    return to_int(error.code.exit);
}

/// Without an MPI launcher, MPI_Init would end the program or make each process the only rank.
Status require_mpi_launcher(Environment const& environment) {
    for (auto const* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}) {
        if (environment.find(name)) return Ok{};
    }
    return Error{codes::usage, "no MPI launcher has started this rank",
                 "--peer mpi is for ranks of mpirun or 'srun --mpi=pmix'"};
}

/// Under a launcher, each of its ranks would start further ranks.
Status require_no_launcher(Environment const& environment) {
    if (!find_rank([&](std::string_view name) { return environment.find(name); })) return Ok{};
    return Error{codes::usage, "this is a rank already", "leave out --ranks"};
}

void print_heading(CollectivesArguments const& arguments, DistributedContext const& ranks) {
    auto const memory = arguments.memory == Memory::shared ? "memory that det allocates" : "ordinary memory";
    std::cout << fmt::format("# {} on {}, {}, {}\n{}\n", count_text(ranks.size(), "rank"),
                             count_text(ranks.cross_size(), "node"), collectives::name_of(arguments.type),
                             memory, render_heading(arguments.peer))
              << std::flush;
}

Status measure_among(CollectivesArguments const& arguments, DistributedContext& ranks) {
    std::optional<Implementation> peer;
    if (arguments.peer == Peer::mpi) {
        DET_TRY_ASSIGN(peer, load_mpi_implementation(ranks.rank(), ranks.size()));
    }
    bool const is_table = arguments.form == Form::table;
    if (ranks.is_chief() && is_table) print_heading(arguments, ranks);
    auto const print_row = [&](Row const& row) {
        std::cout << (is_table ? render_line(row) : render_json(row)) << std::endl;
    };
    DET_TRY_ASSIGN(auto const wrong,
                   measure_collectives(arguments, ranks, peer ? &*peer : nullptr, print_row));
    if (wrong == 0) return Ok{};
    return Error{codes::internal, fmt::format("{} elements of results were wrong", wrong),
                 "please report this"};
}

Status measure_started_here(CollectivesArguments const& arguments) {
    DET_TRY_ASSIGN(auto started, LocalRanks::start(*arguments.ranks));
    DET_TRY(measure_among(arguments, started.ranks()));
    return started.finish();
}

Status measure_as_launched(CollectivesArguments const& arguments, Environment environment) {
    if (!arguments.transport.empty()) environment.set("DET_TRANSPORT", arguments.transport);
    DET_TRY_ASSIGN(auto context, core::Context::init({.environment = std::move(environment)}));
    DET_TRY(measure_among(arguments, context.distributed()));
    return context.close();
}

Status collectives_command(Arguments const& words) {
    DET_TRY_ASSIGN(auto const arguments, parse_collectives(words));
    if (arguments.asks_for_help) {
        std::cout << find_page("collectives");
        return Ok{};
    }
    auto environment = Environment::of_this_process();
    if (arguments.ranks) DET_TRY(require_no_launcher(environment));
    if (arguments.peer == Peer::mpi) DET_TRY(require_mpi_launcher(environment));
    return arguments.ranks ? measure_started_here(arguments)
                           : measure_as_launched(arguments, std::move(environment));
}

int print_usage(std::ostream& out) {
    out << "usage: det-bench collectives [OPTION...]   how fast ranks reduce and exchange here (--help)\n";
    return &out == &std::cout ? 0 : to_int(ExitCode::usage);
}

}  // namespace

int main(int argc, char** argv) try {
    Arguments const words(argv + 1, argv + argc);
    if (words.empty()) return print_usage(std::cerr);
    if (words[0] == "--help" || words[0] == "-h" || words[0] == "help") return print_usage(std::cout);
    if (words[0] != "collectives") return print_usage(std::cerr);
    auto const done = collectives_command({words.begin() + 1, words.end()});
    return done ? 0 : fail(done.error());
} catch (std::exception const& exception) {
    return fail(Error{codes::internal, exception.what(), "please report this"});
}
