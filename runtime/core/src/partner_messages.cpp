#include "partner_messages.hpp"

#include <det/foundation/text.hpp>
#include <det/transport/bootstrap.hpp>
#include <det/transport/rank_monitor.hpp>
#include <det/transport/tcp/tcp_transport.hpp>

#include <algorithm>

#include "rank_network.hpp"

namespace det::core {
namespace {

constexpr transport::Tag partner_tag{1};

/// Exchanges addresses by the collectives of the run. det's sockets put and get nothing else.
class CollectiveBootstrap final : public transport::Bootstrap {
public:
    explicit CollectiveBootstrap(collectives::DistributedContext& distributed)
        : Bootstrap(distributed.rank(), distributed.size()), distributed_(distributed) {}

private:
    Status do_put(std::string const&, std::string const&) override { return no_store(); }
    Result<std::string> do_get(Rank, std::string const&) override { return no_store(); }
    Result<std::vector<std::string>> do_allgather(std::string const& value) override {
        return distributed_.allgather(value);
    }
    static Error no_store() { return {codes::misuse, "these ranks exchange values only all together"}; }

    collectives::DistributedContext& distributed_;
};

class TransportMessages final : public checkpoint::RankMessages {
public:
    explicit TransportMessages(std::unique_ptr<transport::Transport> transport)
        : transport_(std::move(transport)) {}
    /// Not collective: a rank may fail alone. Context::close() ends the messages of all ranks before.
    ~TransportMessages() override { transport_->abandon(); }

    Status transfer(std::optional<Outgoing> out, std::optional<Incoming> in) override {
        std::optional<transport::Request> sending;
        if (out) {
            DET_TRY_ASSIGN(auto started, transport_->start_send({out->to}, partner_tag, out->bytes));
            sending.emplace(std::move(started));
        }
        if (in) DET_TRY(transport_->receive({in->from}, partner_tag, in->bytes));
        if (sending) DET_TRY(sending->finish());
        return Ok{};
    }

private:
    std::unique_ptr<transport::Transport> transport_;
};

std::optional<RankNetwork> find_network(ContextData const& data) {
    auto const& ranks = data.distributed;
    RankNumbers const numbers{
        {ranks.rank().value,
         ranks.size(),
         {ranks.local_rank(), ranks.local_size(), ranks.cross_rank(), ranks.cross_size()}},
        "",
        ""};
    auto found = find_rank_network(numbers, data.info, Environment(), "", {});
    return found && *found && !(*found)->own_address.empty() ? *std::move(found) : std::nullopt;
}

}  // namespace

Result<std::unique_ptr<checkpoint::RankMessages>> open_partner_messages(ContextData& data) {
    auto const network = find_network(data);
    std::int64_t is_known[] = {network ? 1 : 0};
    DET_TRY(data.distributed.allreduce(std::span<std::int64_t>(is_known), collectives::ReduceOp::min));
    if (is_known[0] == 0) {
        if (data.distributed.is_chief() && data.warn)
            data.warn(
                "a node does not know its address, so the state in memory is not copied to other nodes; set "
                "DET_INTER_NODE_NETWORK_INTERFACE in the experiment's environment");
        return std::unique_ptr<checkpoint::RankMessages>();
    }
    auto bootstrap = std::make_unique<CollectiveBootstrap>(data.distributed);
    DET_TRY_ASSIGN(auto monitor,
                   transport::open_rank_monitor(*bootstrap, {.chief_address = network->chief_address,
                                                             .node = network->node,
                                                             .address = network->own_address}));
    transport::tcp::Options options;
    options.address = network->own_address;
    options.local_ranks = data.distributed.local_size();
    options.monitor = std::move(monitor);
    DET_TRY_ASSIGN(auto opened, transport::tcp::open_transport(std::move(bootstrap), std::move(options)));
    return std::unique_ptr<checkpoint::RankMessages>(std::make_unique<TransportMessages>(std::move(opened)));
}

std::string find_switch_name(Environment const& environment) {
    auto const address = environment.find("SLURM_TOPOLOGY_ADDR").value_or("");
    auto const pattern = environment.find("SLURM_TOPOLOGY_ADDR_PATTERN").value_or("");
    auto const names = split(address, '.');
    auto const kinds = split(pattern, '.');
    // The last switch before the node. A node's name may have dots, so it is found by its place from the
    // left.
    for (std::size_t i = std::min(names.size(), kinds.size()); i-- > 0;) {
        if (kinds[i] == "switch") return std::string(names[i]);
    }
    return "";
}

}  // namespace det::core
