#include "communicator.hpp"

#include <array>
#include <fmt/format.h>
#include <utility>

namespace det::transport::mpi {
namespace {

struct MpiLevel {
    int value;
    std::string_view name;
};

constexpr MpiLevel level_of(ThreadLevel threads) {
    switch (threads) {
        case ThreadLevel::main_only:
            return {MPI_THREAD_FUNNELED, "MPI_THREAD_FUNNELED"};
        case ThreadLevel::one_at_a_time:
            return {MPI_THREAD_SERIALIZED, "MPI_THREAD_SERIALIZED"};
        case ThreadLevel::any:
            break;
    }
    return {MPI_THREAD_MULTIPLE, "MPI_THREAD_MULTIPLE"};
}

Status check_thread_level(MpiLevel wanted) {
    int provided = MPI_THREAD_SINGLE;
    if (int const code = MPI_Query_thread(&provided); code != MPI_SUCCESS) {
        return mpi_error("ask MPI for its thread level", code);
    }
    if (provided >= wanted.value) return Ok{};
    return Error{codes::transport,
                 fmt::format("MPI was initialised with thread level {} and {} is needed ({})", provided,
                             wanted.value, wanted.name),
                 fmt::format("call MPI_Init_thread with {} in place of MPI_Init", wanted.name)};
}

Status check_tags() {
    int* upper_bound = nullptr;
    int is_set = 0;
    // Open MPI has this attribute on MPI_COMM_WORLD only.
    int const code = MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&upper_bound), &is_set);
    if (code != MPI_SUCCESS) return mpi_error("ask MPI for its largest tag", code);
    if (is_set != 0 && static_cast<std::uint32_t>(*upper_bound) >= tag_max) return Ok{};
    return Error{codes::transport, fmt::format("this MPI has tags up to {} and {} is needed",
                                               is_set != 0 ? *upper_bound : 0, tag_max)};
}

}  // namespace

Error mpi_error(std::string const& what, int code) {
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int size = 0;
    if (MPI_Error_string(code, text.data(), &size) != MPI_SUCCESS) size = 0;
    return Error{codes::transport,
                 fmt::format("cannot {}: {}", what,
                             size > 0 ? std::string(text.data(), static_cast<std::size_t>(size))
                                      : fmt::format("MPI error {}", code))};
}

Result<Communicator> Communicator::open(ThreadLevel threads, std::optional<int> parent) {
    int is_initialised = 0, is_finalised = 0;
    MPI_Initialized(&is_initialised);
    MPI_Finalized(&is_finalised);
    if (is_finalised != 0) {
        return Error{codes::misuse, "MPI was finalised already, and cannot be initialised twice"};
    }
    if (parent && is_initialised == 0)
        return Error{codes::misuse, "there is no communicator before MPI was initialised"};
    auto const level = level_of(threads);
    Communicator opened(is_initialised == 0);
    if (opened.was_initialised_here_) {
        int provided = 0;
        if (int const code = MPI_Init_thread(nullptr, nullptr, level.value, &provided); code != MPI_SUCCESS) {
            return mpi_error("initialise MPI", code);
        }
    }
    DET_TRY(check_thread_level(level));
    auto const all = parent ? MPI_Comm_f2c(*parent) : MPI_COMM_WORLD;
    if (all == MPI_COMM_NULL) return Error{codes::misuse, "this rank is not in the MPI communicator"};
    if (int const code = MPI_Comm_dup(all, &opened.communicator_); code != MPI_SUCCESS) {
        return mpi_error("make an MPI communicator", code);
    }
    // MPI's default error handler ends the program at the first error.
    MPI_Comm_set_errhandler(opened.communicator_, MPI_ERRORS_RETURN);
    DET_TRY(check_tags());
    return opened;
}

Communicator::Communicator(Communicator&& other) noexcept
    : communicator_(std::exchange(other.communicator_, MPI_COMM_NULL)),
      was_initialised_here_(other.was_initialised_here_) {}

Communicator::~Communicator() {
    int is_finalised = 0;
    MPI_Finalized(&is_finalised);
    if (!is_open() || is_finalised != 0) return;
    MPI_Comm_free(&communicator_);
    if (was_initialised_here_) MPI_Finalize();
}

Result<int> Communicator::rank() const {
    int rank = 0;
    if (int const code = MPI_Comm_rank(communicator_, &rank); code != MPI_SUCCESS) {
        return mpi_error("ask MPI for the rank", code);
    }
    return rank;
}

Result<int> Communicator::size() const {
    int size = 0;
    if (int const code = MPI_Comm_size(communicator_, &size); code != MPI_SUCCESS) {
        return mpi_error("ask MPI for the number of ranks", code);
    }
    return size;
}

Result<int> Communicator::local_size() const {
    MPI_Comm node = MPI_COMM_NULL;
    int code = MPI_Comm_split_type(communicator_, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    int size = 0;
    if (code == MPI_SUCCESS) code = MPI_Comm_size(node, &size);
    if (code == MPI_SUCCESS) code = MPI_Comm_free(&node);
    if (code != MPI_SUCCESS) return mpi_error("ask MPI for the ranks on this node", code);
    return size;
}

}  // namespace det::transport::mpi
