#pragma once
#include <det/slurm/job.hpp>
#include <det/slurm/node.hpp>
#include <det/slurm/partition.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "../libslurm/abi.h"

namespace det::slurm {

/// The result of a query through libslurm.
struct LibslurmAnswer {
    std::vector<JobStatus> jobs;
    std::vector<Partition> partitions;
    std::vector<Node> nodes;
    std::string text;
};

/// Why a query has no result.
enum class LibslurmTrouble {
    not_loaded,  // the module could not be used
    refused,     // slurmctld refused, or could not be reached
};

/// Serializes the records that the module passes on, and gives them to `write` in large pieces.
class AnswerWriter {
public:
    explicit AnswerWriter(std::function<void(std::string_view)> write) : write_(std::move(write)) {}
    AnswerWriter(AnswerWriter const&) = delete;
    AnswerWriter& operator=(AnswerWriter const&) = delete;

    /// Valid for the lifetime of this object.
    det_libslurm_sink sink();
    /// The caller must end with finish() or fail().
    void finish();
    void fail(LibslurmTrouble trouble, std::string_view why);

private:
    template <class Number>
    void put(Number number);
    void put_text(char const* text);
    void put_text(std::string_view text);
    void flush_above(std::size_t size);

    std::function<void(std::string_view)> write_;
    std::string bytes_;
};

struct LibslurmFailure {
    LibslurmTrouble trouble;
    std::string why;
};

/// nullopt if the bytes are not a complete answer, because the writer ended early.
std::optional<Result<LibslurmAnswer, LibslurmFailure>> parse_libslurm_answer(std::string_view bytes);

}  // namespace det::slurm
