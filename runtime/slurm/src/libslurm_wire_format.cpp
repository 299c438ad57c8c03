// The records that the process which calls libslurm sends to its parent through a pipe. Both are the same
// program, so numbers are sent in native representation.
#include "libslurm_wire_format.hpp"

#include <det/protocol/host_list.hpp>

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <limits>

namespace det::slurm {
namespace {

constexpr std::size_t piece_bytes = 256 << 10;

enum class Kind : char { job = 'j', partition = 'p', node = 'n', text = 't', trouble = '!', end = '.' };

AnswerWriter& writer_of(void* context) { return *static_cast<AnswerWriter*>(context); }

std::optional<UtcTime> known_time(std::int64_t seconds) {
    if (seconds <= 0) return std::nullopt;
    return UtcTime{seconds * 1'000'000};
}

/// Reads numbers and texts from the front of `bytes`. Once bytes were missing, is_cut_off() stays true.
class AnswerReader {
public:
    explicit AnswerReader(std::string_view bytes) : rest_(bytes) {}

    template <class Number>
    Number take() {
        Number number{};
        if (rest_.size() < sizeof number) {
            cut_off_ = true;
        } else {
            std::memcpy(&number, rest_.data(), sizeof number);
            rest_.remove_prefix(sizeof number);
        }
        return number;
    }
    std::string_view take_text() {
        auto const size = take<std::uint32_t>();
        if (rest_.size() < size) cut_off_ = true;
        if (cut_off_) return {};
        auto const text = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return text;
    }
    bool is_cut_off() const { return cut_off_; }

private:
    std::string_view rest_;
    bool cut_off_ = false;
};

JobStatus take_job(AnswerReader& in) {
    JobStatus job;
    job.ref.job = in.take<std::uint32_t>();
    auto const task = in.take<std::uint32_t>();
    if (task != DET_LIBSLURM_NO_TASK) job.ref.task = task;
    job.restarts = in.take<std::uint32_t>();
    job.nodes = static_cast<int>(in.take<std::uint32_t>());
    job.cpus = static_cast<int>(in.take<std::uint32_t>());
    job.priority = in.take<std::uint32_t>();
    job.nice = in.take<std::int64_t>();
    for (auto* time : {&job.preempt_time, &job.end_time, &job.start_time, &job.submit_time}) {
        *time = known_time(in.take<std::int64_t>());
    }
    for (auto* text : {&job.state_text, &job.reason, &job.batch_host, &job.user, &job.account, &job.qos,
                       &job.node_list, &job.partition, &job.tres_per_node, &job.comment, &job.name}) {
        *text = in.take_text();
    }
    job.state = parse_job_state(job.state_text);
    return job;
}

constexpr auto unlimited = std::numeric_limits<std::uint32_t>::max();

std::optional<std::int64_t> known_limit(std::uint64_t limit) {
    return limit == 0 ? std::nullopt : std::optional(static_cast<std::int64_t>(limit));
}

/// In the format of scontrol: "2-00:00:00".
std::string time_limit_text(std::uint32_t minutes) {
    if (minutes == unlimited) return "UNLIMITED";
    auto const hours = minutes / 60;
    auto const days = hours / 24;
    return fmt::format("{}{:02}:{:02}:00", days > 0 ? fmt::format("{}-", days) : "", hours % 24,
                       minutes % 60);
}

Partition take_partition(AnswerReader& in) {
    Partition partition;
    partition.name = in.take_text();
    partition.preempt_mode = in.take_text();
    partition.oversubscribe = in.take_text();
    partition.qos = in.take_text();
    partition.grace_time = std::chrono::seconds(in.take<std::uint32_t>());
    auto const nodes_max = in.take<std::uint32_t>();
    if (nodes_max != unlimited) partition.nodes_max = static_cast<int>(nodes_max);
    partition.time_max = time_limit_text(in.take<std::uint32_t>());
    partition.priority_tier = static_cast<int>(in.take<std::uint32_t>());
    partition.memory_max = {known_limit(in.take<std::uint64_t>()), known_limit(in.take<std::uint64_t>())};
    partition.is_default = in.take<int>() != 0;
    partition.is_up = in.take<int>() != 0;
    partition.has_default_memory = in.take<int>() != 0;
    return partition;
}

/// sinfo prints "(null)" for an empty value.
std::string null_text(std::string_view text) { return std::string(text.empty() ? "(null)" : text); }

/// A node and the attributes that identify its group in a partition.
struct NodeRow {
    Node node;
    std::string main_state;
    std::string features;
    std::int64_t memory_mib = 0;
};

NodeRow take_node(AnswerReader& in) {
    NodeRow row;
    row.node.name = in.take_text();
    row.node.partition = in.take_text();
    row.node.state = in.take_text();
    row.main_state = in.take_text();
    row.node.gres = null_text(in.take_text());
    row.node.gres_used = null_text(in.take_text());
    row.features = null_text(in.take_text());
    row.node.reason = in.take_text();
    row.node.cpus = static_cast<int>(in.take<std::uint32_t>());
    row.node.cpus_used = static_cast<int>(in.take<std::uint32_t>());
    row.memory_mib = static_cast<std::int64_t>(in.take<std::uint64_t>());
    return row;
}

void add_to_group(Partition& partition, NodeRow const& row) {
    NodeGroup const like{
        1, row.node.cpus, row.main_state, row.node.gres, row.features, row.node.name, row.memory_mib};
    auto const found = std::find_if(partition.nodes.begin(), partition.nodes.end(), [&](auto const& group) {
        return group.cpus == like.cpus && group.state == like.state && group.gres == like.gres &&
               group.features == like.features && group.memory_mib == like.memory_mib;
    });
    if (found == partition.nodes.end()) {
        partition.nodes.push_back(like);
    } else {
        ++found->count;
        found->names += ',' + like.names;
    }
}

/// Compresses the node names of each complete group: "n0,n1" becomes "n[0-1]".
void compress_names(LibslurmAnswer& answer) {
    for (auto& partition : answer.partitions) {
        for (auto& group : partition.nodes) {
            if (auto const names = expand_host_list(group.names)) group.names = compress_host_list(*names);
        }
    }
}

}  // namespace

template <class Number>
void AnswerWriter::put(Number number) {
    bytes_.append(reinterpret_cast<char const*>(&number), sizeof number);
}

void AnswerWriter::put_text(std::string_view text) {
    put(static_cast<std::uint32_t>(text.size()));
    bytes_.append(text);
}

void AnswerWriter::put_text(char const* text) {
    put_text(text == nullptr ? std::string_view{} : std::string_view(text));
}

void AnswerWriter::flush_above(std::size_t size) {
    if (bytes_.size() <= size) return;
    write_(bytes_);
    bytes_.clear();
}

det_libslurm_sink AnswerWriter::sink() {
    det_libslurm_sink sink{};
    sink.context = this;
    sink.job = [](void* context, det_libslurm_job const* job) {
        auto& out = writer_of(context);
        out.put(Kind::job);
        for (auto const number : {job->job, job->task, job->restarts, job->nodes, job->cpus, job->priority})
            out.put(number);
        for (auto const number :
             {job->nice, job->preempt_time, job->end_time, job->start_time, job->submit_time})
            out.put(number);
        for (auto const* text : {job->state, job->reason, job->batch_host, job->user, job->account, job->qos,
                                 job->node_list, job->partition, job->tres_per_node, job->comment, job->name})
            out.put_text(text);
        out.flush_above(piece_bytes);
    };
    sink.partition = [](void* context, det_libslurm_partition const* partition) {
        auto& out = writer_of(context);
        out.put(Kind::partition);
        out.put_text(partition->name);
        out.put_text(partition->preempt_mode);
        out.put_text(partition->oversubscribe);
        out.put_text(partition->qos);
        for (auto const number : {partition->grace_time_s, partition->nodes_max, partition->time_max_min,
                                  partition->priority_tier})
            out.put(number);
        out.put(partition->memory_per_node_max_mib);
        out.put(partition->memory_per_cpu_max_mib);
        out.put(partition->is_default);
        out.put(partition->is_up);
        out.put(partition->has_default_memory);
    };
    sink.node = [](void* context, det_libslurm_node const* node) {
        auto& out = writer_of(context);
        out.put(Kind::node);
        for (auto const* text : {node->name, node->partition, node->state, node->main_state, node->gres,
                                 node->gres_used, node->features, node->reason})
            out.put_text(text);
        out.put(node->cpus);
        out.put(node->cpus_used);
        out.put(node->memory_mib);
        out.flush_above(piece_bytes);
    };
    sink.text = [](void* context, char const* text, std::size_t size) {
        auto& out = writer_of(context);
        out.put(Kind::text);
        out.put_text(std::string_view(text, size));
    };
    return sink;
}

void AnswerWriter::finish() {
    put(Kind::end);
    flush_above(0);
}

void AnswerWriter::fail(LibslurmTrouble trouble, std::string_view why) {
    put(Kind::trouble);
    put(trouble);
    put_text(why);
    flush_above(0);
}

std::optional<Result<LibslurmAnswer, LibslurmFailure>> parse_libslurm_answer(std::string_view bytes) {
    using Answer = Result<LibslurmAnswer, LibslurmFailure>;
    AnswerReader in(bytes);
    LibslurmAnswer answer;
    while (true) {
        auto const kind = in.take<Kind>();
        if (in.is_cut_off()) return std::nullopt;
        switch (kind) {
            case Kind::job:
                answer.jobs.push_back(take_job(in));
                break;
            case Kind::partition:
                answer.partitions.push_back(take_partition(in));
                break;
            case Kind::node: {
                auto row = take_node(in);
                if (!answer.partitions.empty()) add_to_group(answer.partitions.back(), row);
                answer.nodes.push_back(std::move(row.node));
                break;
            }
            case Kind::text:
                answer.text += in.take_text();
                break;
            case Kind::trouble: {
                auto const trouble = in.take<LibslurmTrouble>();
                std::string why(in.take_text());
                if (in.is_cut_off()) return std::nullopt;
                return Answer(LibslurmFailure{trouble, std::move(why)});
            }
            case Kind::end:
                compress_names(answer);
                return Answer(std::move(answer));
            default:
                return std::nullopt;
        }
    }
}

}  // namespace det::slurm
