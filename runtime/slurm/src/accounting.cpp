#include <det/foundation/text.hpp>
#include <det/slurm/accounting.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace det::slurm {
namespace {

constexpr std::size_t tree_depth_max = 64;  // a loop in the tree ends here

/// Parses "gres/gpu=8,node=4". An amount that is no number (1T of memory) is left out.
TresCounts parse_tres(std::string_view text) {
    TresCounts counts;
    for (auto const item : split(text, ',')) {
        auto const equals = item.find('=');
        if (equals == std::string_view::npos) continue;
        if (auto const count = parse_integer<std::int64_t>(item.substr(equals + 1)); count && *count >= 0)
            counts[std::string(item.substr(0, equals))] = *count;
    }
    return counts;
}

std::vector<std::string> parse_names(std::string_view text) {
    std::vector<std::string> names;
    for (auto const name : split(text, ',')) {
        if (!name.empty()) names.emplace_back(name);
    }
    return names;
}

using Fields = std::vector<std::string_view>;

Association read_association(Fields const& row) {
    Association association;
    association.account = row[0];
    association.user = row[1];
    association.partition = row[2];
    association.parent = row[3];
    association.qos = parse_names(row[4]);
    association.default_qos = row[5];
    association.limits.group = parse_tres(row[6]);
    association.limits.per_job = parse_tres(row[7]);
    association.limits.per_node = parse_tres(row[8]);
    association.limits.jobs_max = parse_integer<std::int64_t>(row[9]);
    association.limits.submit_max = parse_integer<std::int64_t>(row[10]);
    association.limits.wall_max = row[11];
    return association;
}

Qos read_qos(Fields const& row) {
    Qos qos;
    qos.name = row[0];
    qos.limits.group = parse_tres(row[1]);
    qos.limits.per_job = parse_tres(row[2]);
    qos.limits.per_node = parse_tres(row[3]);
    qos.limits.per_user = parse_tres(row[4]);
    qos.limits.per_account = parse_tres(row[5]);
    qos.limits.jobs_max = parse_integer<std::int64_t>(row[6]);
    qos.limits.submit_max = parse_integer<std::int64_t>(row[7]);
    qos.limits.wall_max = row[8];
    qos.priority = parse_integer<std::int64_t>(row[9]).value_or(0);
    qos.grace_time = row[10];
    qos.preempt_mode = row[11];
    qos.preempts = parse_names(row[12]);
    qos.flags = parse_names(row[13]);
    return qos;
}

template <class Row>
std::vector<Row> read_rows(std::string_view text, std::size_t columns, Row (*read)(Fields const&)) {
    std::vector<Row> rows;
    for (auto const line : split_lines(text)) {
        auto const fields = split(line, '|');
        if (fields.size() >= columns) rows.push_back(read(fields));
    }
    return rows;
}

}  // namespace

std::string association_format() {
    return "format=Account,User,Partition,ParentName,QOS,DefaultQOS,GrpTRES,MaxTRES,MaxTRESPerNode,MaxJobs,"
           "MaxSubmitJobs,MaxWall";
}

std::string qos_format() {
    return "format=Name,GrpTRES,MaxTRES,MaxTRESPerNode,MaxTRESPerUser,MaxTRESPerAccount,MaxJobsPerUser,"
           "MaxSubmitJobsPerUser,MaxWall,Priority,GraceTime,PreemptMode,Preempt,Flags";
}

Accounting parse_accounting(std::string_view associations, std::string_view qos, std::string_view user) {
    Accounting accounting{read_rows(associations, 12, read_association), read_rows(qos, 14, read_qos), {}};
    auto const line = user.substr(0, user.find('\n'));
    if (auto const bar = line.find('|'); bar != std::string_view::npos)
        accounting.default_account = trim(line.substr(bar + 1));
    return accounting;
}

std::vector<FairShare> parse_fair_shares(std::string_view text) {
    std::vector<FairShare> shares;
    for (auto const line : split_lines(text)) {
        auto const fields = split(line, '|');
        if (fields.size() < 3 || trim(fields[1]).empty()) continue;
        auto const factor = trim(fields[2]);
        FairShare share{std::string(trim(fields[0]))};  // sshare indents accounts by their depth in the tree
        auto const [end, error] = std::from_chars(factor.data(), factor.data() + factor.size(), share.factor);
        if (error == std::errc() && end == factor.data() + factor.size() && std::isfinite(share.factor))
            shares.push_back(std::move(share));
    }
    return shares;
}

std::vector<JobExecution> parse_executions(std::string_view text) {
    constexpr std::int64_t second_us = 1'000'000;
    auto const time_of = [](std::string_view field) {
        auto const seconds = parse_integer<std::int64_t>(trim(field));
        bool const is_time = seconds && *seconds > 0 && *seconds < std::int64_t{1} << 40;
        return is_time ? std::optional(UtcTime{*seconds * second_us}) : std::nullopt;
    };
    std::vector<JobExecution> executions;
    for (auto const line : split_lines(text)) {
        auto const fields = split(line, '|');
        if (fields.size() < 4) continue;
        auto const job = parse_job_ref(trim(fields[0]));
        auto const started = time_of(fields[1]), ended = time_of(fields[2]);
        if (!job || (!started && !ended)) continue;
        executions.push_back(
            {*job, started, ended, parse_integer<std::uint32_t>(trim(fields[3])).value_or(0)});
    }
    return executions;
}

bool Qos::has_flag(std::string_view flag) const { return std::ranges::find(flags, flag) != flags.end(); }

Association const* Accounting::find(std::string_view user, std::string_view account,
                                    std::string_view partition) const {
    Association const* any = nullptr;
    for (auto const& each : associations) {
        if (each.user != user || each.account != account) continue;
        if (!partition.empty() && each.partition == partition) return &each;
        if (each.partition.empty()) any = &each;
    }
    return any;
}

std::vector<Association const*> Accounting::ancestors(Association const& association) const {
    std::vector<Association const*> above;
    auto account = association.user.empty() ? association.parent : association.account;
    while (!account.empty() && above.size() < tree_depth_max) {
        auto const found = std::ranges::find_if(
            associations, [&](auto const& each) { return each.user.empty() && each.account == account; });
        if (found == associations.end()) break;
        above.push_back(&*found);
        account = found->parent;
    }
    return above;
}

Qos const* Accounting::find_qos(std::string_view name) const {
    auto const found = std::ranges::find(qos, name, &Qos::name);
    return found != qos.end() ? &*found : nullptr;
}

}  // namespace det::slurm
