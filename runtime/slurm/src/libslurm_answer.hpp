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

/// What a reading through libslurm brought.
struct LibslurmAnswer {
    std::vector<JobStatus> jobs;
    std::vector<Partition> partitions;
    std::vector<Node> nodes;
    std::string text;
};

/// How a reading ended that brought no answer.
enum class LibslurmTrouble {
    not_loaded,  // nothing was asked
    refused,     // by slurmctld, or it was not to be reached
};

/// Makes bytes of what the module hands out, and gives them to `write` in large pieces.
class AnswerWriter {
public:
    explicit AnswerWriter(std::function<void(std::string_view)> write) : write_(std::move(write)) {}
    AnswerWriter(AnswerWriter const&) = delete;
    AnswerWriter& operator=(AnswerWriter const&) = delete;

    /// Valid as long as this is.
    det_libslurm_sink sink();
    /// One of these comes last.
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

/// Nothing where the bytes end too early: whoever wrote them ended in the middle of it.
std::optional<Result<LibslurmAnswer, LibslurmFailure>> parse_libslurm_answer(std::string_view bytes);

}  // namespace det::slurm
