// A group of L ranks on each of N nodes. Within a node the ranks use shared memory, between nodes messages.
//
// Every operation begins with three steps: up (within each node, to its leader, the rank with local rank 0),
// across (between the leaders) and down (within each node). The three steps take three latencies, of which
// one is the network's. Ranks whose calls differ meet in the same step, so all ranks get the same Error.
// Objects, barriers and an allreduce of at most Tuning::small_limit_bytes, or over nodes with different
// numbers of ranks, are complete after these steps.
//
// Large data is divided among the ranks of a node. An allreduce of n bytes is a reduce_scatter within the
// node, L concurrent allreduces of n/L bytes, each between the ranks with the same local rank, and an
// allgather within the node. All ranks of a node together send 2n(N-1)/N bytes to other nodes, which is the
// least that an allreduce between N nodes needs, and each of them does an equal share of the sending.
// Horovod's NCCLHierarchicalAllreduce has the same three parts. A reduce and a broadcast go through the ranks
// that have the root's local rank. After the agreement, the other operations go between all ranks at once:
// reduce_scatter, allgather and all_to_all of elements, a reduce of float16 or bfloat16, and a reduce and a
// broadcast over nodes with different numbers of ranks.
//
// No rank waits for a rank that has returned: a rank with an Error in one step enters the remaining steps
// with that Error, and the other ranks of such a step get the Error. Only a lost rank or a time limit can
// cause an Error after the agreement. Each waiting rank detects a loss and a limit by itself, so
// reduce_by_cross() returns as soon as its part within the node has failed.
//
// The order in which the values of an element are combined follows from the sizes, L and the Tuning: local
// ranks in their order, and then nodes in the order of the schedule. So all ranks have the same bits in every
// run. float16 and bfloat16 are widened before the first step and rounded once after the last.
#include <det/collectives/reduction.hpp>
#include <det/collectives/two_level.hpp>
#include <det/foundation/bytes.hpp>
#include <det/transport/subgroup.hpp>

#include <fmt/format.h>
#include <optional>

#include "communicator.hpp"
#include "ranks_by_node.hpp"

namespace det::collectives {
namespace {

using Strings = std::vector<std::string>;

constexpr Rank leader{0};  // the local rank of a node's leader

/// Packs byte strings into one: for each string its size (8 bytes), then its bytes.
std::string pack(std::vector<std::string> const& values) {
    std::string packed;
    for (auto const& value : values) {
        append_value(packed, std::uint64_t{value.size()});
        packed += value;
    }
    return packed;
}

Result<std::vector<std::string>> unpack(std::string_view packed) {
    std::vector<std::string> values;
    while (!packed.empty()) {
        bool const has_size = packed.size() >= sizeof(std::uint64_t);
        auto const size = has_size ? read_value<std::uint64_t>(packed, 0) : 0;
        packed.remove_prefix(has_size ? sizeof size : 0);
        if (!has_size || packed.size() < size) return Error{codes::transport, "packed values are cut"};
        values.emplace_back(packed.substr(0, size));
        packed.remove_prefix(size);
    }
    return values;
}

template <class T>
Status status_of(Result<T> const& result) {
    return result ? Status(Ok{}) : Status(result.error());
}

template <class AnyTensor>
AnyTensor slice(AnyTensor tensor, std::size_t begin, std::size_t count) {
    auto bytes = bytes_of(tensor);
    if (bytes.empty()) return tensor;
    return {bytes.data() + begin * size_of(tensor.type), count, tensor.type};
}

ReduceOp without_mean(ReduceOp op) { return op == ReduceOp::mean ? ReduceOp::sum : op; }

/// A communicator over some ranks of a transport, which it keeps: a context may outlive the TwoLevel.
struct SubgroupCommunicator {
    SubgroupCommunicator(std::shared_ptr<transport::Transport> whole, std::vector<Rank> const& members,
                         Tuning const& tuning)
        : transport(std::move(whole)), communicator(transport::make_subgroup(*transport, members), tuning) {}

    std::shared_ptr<transport::Transport> transport;  // declared first: the communicator uses it
    Communicator communicator;
};

class TwoLevel final : public RankGroup {
public:
    TwoLevel(std::shared_ptr<transport::Transport> transport, std::unique_ptr<Communicator> flat,
             std::shared_ptr<RankGroup> local, Nodes nodes, Tuning const& tuning)
        : RankGroup(transport->rank(), transport->size()),
          transport_(std::move(transport)),
          flat_(std::move(flat)),
          local_(std::move(local)),
          nodes_(std::move(nodes)),
          tuning_(tuning),
          has_equal_nodes_(nodes_.have_equal_sizes()) {
        if (has_equal_nodes_ || is_leader()) {
            cross_ = make_cross();
        }
        local_->set_global_ranks(nodes_.on(own_node()));
    }

    Status barrier() override { return agree({.kind = Kind::barrier}, Ok{}); }

    Result<Strings> gather(std::string value, Status const& refused) override {
        set_scopes({.kind = Kind::gather});
        auto const up = local_->gather(std::move(value), with_own_rank(refused));
        Result<Strings> by_node = Strings{};
        if (is_leader()) by_node = up ? cross_->gather(pack(*up), Ok{}) : relay_error<Strings>(up.error());
        DET_TRY(share_with_node(status_of(by_node)));
        if (rank() != chief) return Strings{};
        return in_rank_order(*by_node);
    }

    Result<Strings> allgather(std::string value, Status const& refused) override {
        set_scopes({.kind = Kind::allgather});
        auto const up = local_->gather(std::move(value), with_own_rank(refused));
        Result<Strings> by_node = Strings{};
        if (is_leader()) by_node = up ? cross_->allgather(pack(*up), Ok{}) : relay_error<Strings>(up.error());
        DET_TRY_ASSIGN(auto const packed,
                       local_->broadcast(by_node ? pack(*by_node) : "", leader, status_of(by_node)));
        DET_TRY_ASSIGN(auto const all, unpack(packed));
        return in_rank_order(all);
    }

    Result<std::string> broadcast(std::string value, Rank from, Status const& refused) override {
        set_scopes({.root = from.value, .kind = Kind::broadcast_object});
        bool const is_here = refused && nodes_.node_of(from) == own_node();
        Rank const local_root{is_here ? nodes_.local_rank_of(from) : leader.value};
        auto up = local_->broadcast(is_here ? std::move(value) : "", local_root, with_own_rank(refused));
        Result<std::string> across = std::string();
        if (is_leader()) {
            across = up ? cross_->broadcast(*std::move(up), {nodes_.node_of(from)}, Ok{})
                        : relay_error<std::string>(up.error());
        }
        auto const status = status_of(across);
        return local_->broadcast(across ? *std::move(across) : "", leader, status);
    }

    Status run(TensorCall const& call, Status const& refused) override {
        auto const size_bytes = call.in.count * size_of(call.in.type);
        bool const is_small = size_bytes <= tuning_.small_limit_bytes;
        if (refused && call.kind == Kind::allreduce) {
            set_scopes(call_of(call));
            bool const by_leaders = is_small || !has_equal_nodes_;
            return allreduce(call, by_leaders ? &TwoLevel::allreduce_by_leaders : &TwoLevel::allreduce_large);
        }
        DET_TRY(agree(call_of(call), refused));
        if (call.kind == Kind::reduce && has_equal_nodes_ && !is_half(call.in.type))
            return reduce_by_cross(call);
        if (call.kind == Kind::broadcast && has_equal_nodes_) return broadcast_by_cross(call);
        return flat_->run_agreed(call);
    }

    std::string algorithm_name(TensorCall const& call) const override {
        bool const is_by_levels = call.kind == Kind::allreduce ||
                                  (has_equal_nodes_ && call.kind == Kind::broadcast) ||
                                  (has_equal_nodes_ && call.kind == Kind::reduce && !is_half(call.in.type));
        if (!is_by_levels || !cross_) return flat_->algorithm_name(call);
        auto const between = cross_->algorithm_name(cross_call(call));
        return local_->size() == 1 ? between
                                   : fmt::format("{}; {}", local_->algorithm_name(local_call(call)), between);
    }

    Result<Buffer> allocate(std::size_t size_bytes) override { return local_->allocate(size_bytes); }
    void abandon() noexcept override { transport_->abandon(); }
    ControlChannel control_channel() override {
        return {.flags = local_->control_channel().flags, .transport = transport_.get()};
    }
    Status check_ranks() override {
        DET_TRY(local_->check_ranks());
        return transport_->check_ranks();
    }
    Result<std::unique_ptr<RankGroup>> make_cross_group() override {
        // Two ranks may share only one subgroup of a transport, so the program's operations use that of the
        // steps between nodes. On uneven nodes ranks other than leaders have none.
        if (!cross_ && !cross_of_program_) cross_of_program_ = make_cross();
        return make_shared_group(cross_ ? cross_ : cross_of_program_);
    }

private:
    std::shared_ptr<Communicator> make_cross() {
        auto const members = nodes_.cross_ranks(local_->rank().value);
        auto const cross = std::make_shared<SubgroupCommunicator>(transport_, members, tuning_);
        cross->communicator.set_global_ranks(members);
        return {cross, &cross->communicator};
    }

    bool is_leader() const { return local_->rank() == leader; }
    int own_node() const { return nodes_.node_of(rank()); }

    /// The call that this rank makes between nodes. In a large allreduce over even nodes, each rank of a node
    /// handles an equal share of the elements.
    TensorCall cross_call(TensorCall call) const {
        bool const is_shared = has_equal_nodes_ && call.kind == Kind::allreduce &&
                               bytes_of(call.in).size() > tuning_.small_limit_bytes;
        if (is_shared) call.in.count /= static_cast<std::size_t>(local_->size());
        return call;
    }

    /// The call that this rank makes within its node. An allreduce of float16 or bfloat16 widens the elements
    /// to memory of its own.
    static TensorCall local_call(TensorCall call) {
        if (call.kind != Kind::allreduce || !is_half(call.in.type)) return call;
        call.in = {nullptr, call.in.count, DataType::float32};
        call.out = {nullptr, call.out.count, DataType::float32};
        return call;
    }

    /// Sets the call that both levels report for their following operations, which are steps of it.
    void set_scopes(Call call) {
        call.sequence = sequence_++;
        call = error_scope().reported_call(call);
        local_->set_scope(call);
        flat_->set_scope(call);
        if (cross_) cross_->set_scope(call);
    }
    Status with_own_rank(Status const& refused) const {
        return refused ? refused : Status(error_scope().with_rank(refused.error(), rank()));
    }
    /// Sends the Error of this node to the leaders of the other nodes. Returns the Error on which the leaders
    /// agree.
    template <class T>
    Result<T> relay_error(Error const& why) {
        auto const relayed = cross_->run({}, why);
        return relayed ? why : relayed.error();
    }
    /// The leader sends the status of the step between nodes to the other ranks of its node.
    Status share_with_node(Status const& across) { return status_of(local_->broadcast("", leader, across)); }

    /// Returns when all ranks have entered. If their calls differ or a rank refuses, the Error is the same on
    /// all of them.
    Status agree(Call const& call, Status const& refused) {
        set_scopes(call);
        return agree_between_nodes(status_of(local_->broadcast("", leader, with_own_rank(refused))));
    }
    /// The second half of agree(), after the ranks of this node have agreed on the status `up`.
    Status agree_between_nodes(Status const& up) {
        Status across = Ok{};
        if (is_leader()) across = up ? cross_->barrier() : status_of(relay_error<Ok>(up.error()));
        return share_with_node(across);
    }

    using Allreduce = Status (TwoLevel::*)(TensorCall const& call);

    /// float16 and bfloat16 are widened to float32, and rounded once after all ranks are combined.
    Status allreduce(TensorCall const& call, Allreduce by) {
        if (!is_half(call.in.type)) return (this->*by)(call);
        std::vector<float> wide(call.in.count);
        widen(call.in.type, bytes_of(call.in).data(), wide.data(), wide.size());
        auto wide_call = call;
        wide_call.out = Tensor::of(std::span(wide));
        wide_call.in = wide_call.out;
        DET_TRY((this->*by)(wide_call));
        narrow(call.out.type, wide.data(), bytes_of(call.out).data(), wide.size());
        return Ok{};
    }

    void finish(ReduceOp op, Tensor sums) const {
        if (op == ReduceOp::mean) finish_mean(sums.type, bytes_of(sums), size());
    }

    Status allreduce_by_leaders(TensorCall const& call) {
        auto sum = call;
        sum.op = without_mean(call.op);
        auto up = sum;
        up.kind = Kind::reduce;
        up.root = leader;
        if (!is_leader()) up.out = {};
        auto const gone_up = local_->run(up, Ok{});
        Status across = Ok{};
        if (is_leader()) {
            sum.in = sum.out;
            across = gone_up ? cross_->run(sum, Ok{}) : status_of(relay_error<Ok>(gone_up.error()));
            if (across) finish(call.op, call.out);
        }
        return local_->run({.kind = Kind::broadcast, .in = call.out, .out = call.out, .root = leader},
                           across);
    }

    /// Each rank of a node reduces a share of the elements, and then combines it with the ranks that have the
    /// same share on the other nodes. The ranks agree once: within a node by the reduce_scatter, between
    /// nodes by the leaders' allreduce of the left-over elements, or by their barrier if no element is left
    /// over.
    Status allreduce_large(TensorCall const& call) {
        auto const ranks = static_cast<std::size_t>(local_->size());
        auto const share = call.in.count / ranks;
        auto const rest = call.in.count - share * ranks;
        auto const op = without_mean(call.op);
        auto const in = slice(call.in, 0, share * ranks);
        auto const out = slice(call.out, 0, share * ranks);
        auto const own = slice(out, share * static_cast<std::size_t>(local_->rank().value), share);
        auto const up = local_->run({.kind = Kind::reduce_scatter, .in = in, .out = own, .op = op}, Ok{});
        auto rest_call = call;
        rest_call.in = slice(call.in, share * ranks, rest);
        rest_call.out = slice(call.out, share * ranks, rest);
        DET_TRY(up && rest > 0 ? allreduce_by_leaders(rest_call) : agree_between_nodes(up));
        auto const across = cross_->run_agreed({.kind = Kind::allreduce, .in = own, .out = own, .op = op});
        if (across) finish(call.op, own);
        return local_->run({.kind = Kind::allgather_elements, .in = own, .out = out}, across);
    }

    /// Reduces within each node to the rank that has the root's local rank, and then between those ranks.
    Status reduce_by_cross(TensorCall const& call) {
        Rank const local_root{nodes_.local_rank_of(call.root)};
        bool const carries = local_->rank() == local_root;
        std::vector<std::byte> memory;
        Tensor partial;
        if (carries) {
            memory.resize(call.in.count * size_of(call.in.type));
            partial = rank() == call.root ? call.out : Tensor{memory.data(), call.in.count, call.in.type};
        }
        auto const op = without_mean(call.op);
        DET_TRY(local_->run(
            {.kind = Kind::reduce, .in = call.in, .out = partial, .op = op, .root = local_root}, Ok{}));
        Status across = Ok{};
        if (carries) {
            Rank const node{nodes_.node_of(call.root)};
            across = cross_->run_agreed({.kind = Kind::reduce,
                                         .in = partial,
                                         .out = rank() == call.root ? partial : Tensor{},
                                         .op = op,
                                         .root = node});
            if (across && rank() == call.root) finish(call.op, call.out);
        }
        return status_of(local_->broadcast("", local_root, across));
    }

    Status broadcast_by_cross(TensorCall const& call) {
        Rank const local_root{nodes_.local_rank_of(call.root)};
        auto sub_call = call;
        sub_call.root = {nodes_.node_of(call.root)};
        auto const across = local_->rank() == local_root ? cross_->run_agreed(sub_call) : Status(Ok{});
        sub_call.root = local_root;
        return local_->run(sub_call, across);
    }

    /// Unpacks the values of each node, and puts all values in rank order.
    Result<Strings> in_rank_order(Strings const& by_node) const {
        Strings values(static_cast<std::size_t>(size()));
        for (int node = 0; node < nodes_.count(); ++node) {
            DET_TRY_ASSIGN(auto of_node, unpack(by_node.at(static_cast<std::size_t>(node))));
            auto const& ranks = nodes_.on(node);
            if (of_node.size() != ranks.size()) return Error{codes::transport, "a node's values are damaged"};
            for (std::size_t i = 0; i < ranks.size(); ++i)
                values[static_cast<std::size_t>(ranks[i].value)] = std::move(of_node[i]);
        }
        return values;
    }

    std::shared_ptr<transport::Transport> transport_;
    std::unique_ptr<Communicator> flat_;
    std::shared_ptr<RankGroup> local_;
    Nodes nodes_;
    Tuning tuning_;
    bool has_equal_nodes_;
    std::shared_ptr<Communicator> cross_;  // null: the nodes are uneven and this rank is not a leader
    std::shared_ptr<Communicator> cross_of_program_;  // made instead of cross_ if the program asks for it
    std::uint64_t sequence_ = 0;
};

}  // namespace

Result<std::unique_ptr<RankGroup>> make_two_level(std::unique_ptr<transport::Transport> transport,
                                                  std::shared_ptr<RankGroup> local, Topology const& topology,
                                                  Tuning tuning) {
    DET_TRY(check(topology, transport->rank(), transport->size()));
    DET_TRY(check(tuning));
    std::shared_ptr<transport::Transport> shared(std::move(transport));
    auto flat = std::make_unique<Communicator>(shared, tuning);
    DET_TRY_ASSIGN(auto nodes, Nodes::gather(*flat, topology));
    // The chief, where gather() collects all values, must also be the leader of its node.
    if (nodes.on(0)[0] != chief)
        return Error{codes::misuse, "rank 0 is not the first rank of the first node"};
    std::unique_ptr<RankGroup> group = std::make_unique<TwoLevel>(std::move(shared), std::move(flat),
                                                                  std::move(local), std::move(nodes), tuning);
    return group;
}

}  // namespace det::collectives
