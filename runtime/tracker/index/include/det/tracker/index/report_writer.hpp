#pragma once
#include <det/protocol/metric_frames.hpp>
#include <det/tracker/index/database.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace det::tracker::index {

inline constexpr std::size_t reports_per_block = 8192;
/// The last block of a schema takes further reports while it has fewer than this number. So a training run
/// that is followed live makes few small blocks, and little is written twice.
inline constexpr std::size_t reports_per_open_block = 256;

/// Collects reports of one journal and writes them as blocks of columns. Not thread-safe.
class ReportWriter {
public:
    /// \param journal its row in the table `journals`
    ReportWriter(Database& index, std::int64_t journal) : index_(index), journal_(journal) {}

    /// \param number of the report: how many reports came before it in the journal
    void add(std::uint64_t number, MetricReportView const& report);
    void add(std::uint64_t number, MetricsReported const& report);
    /// To be called when the journal has a new schema: the number of a schema may mean another one from the
    /// next report on.
    void forget_schema_ids() { by_id_.clear(); }
    /// About how many bytes of memory the collected reports take.
    std::size_t pending_bytes() const { return pending_bytes_; }

    /// Writes the collected reports that fill blocks and keeps the others. To be called after every frame of
    /// a journal: memory then stays small and in the cache, and few blocks need compact_blocks(). Inside the
    /// caller's transaction.
    Status write_full_blocks();
    /// Writes all collected reports, inside the caller's transaction.
    Status write();

private:
    struct Key {
        std::string group;
        std::vector<MetricColumn> columns;
        bool operator<(Key const& other) const;
    };
    struct Pending {
        std::vector<std::uint64_t> numbers;
        std::vector<std::uint64_t> times;
        std::vector<std::uint64_t> steps;
        std::string values;  // report by report, 8 bytes a value

        std::size_t size() const { return numbers.size(); }
    };
    struct OtherReport {
        std::uint64_t number;
        std::string group;
        std::string record;
    };

    Pending& require_pending(MetricReportView const& report);
    /// Writes the reports of a schema block by block.
    /// \param block_size_min reports are kept in memory if they would make a smaller block; at least 1
    Status write_schema(Key const& key, Pending& pending, std::size_t block_size_min);

    Database& index_;
    std::int64_t journal_;
    std::map<Key, Pending> pending_;
    std::vector<Pending*> by_id_;  // by the number of the schema in the journal; null: not known
    std::vector<OtherReport> others_;
    bool has_full_block_ = false;  // whether a schema may have reports for a full block
    std::size_t pending_bytes_ = 0;
};

/// Joins the blocks of a journal to blocks of full size. For a journal that does not grow any more; inside
/// the caller's transaction.
Status compact_blocks(Database& index, std::int64_t journal);

}  // namespace det::tracker::index
