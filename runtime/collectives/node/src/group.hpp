#pragma once
#include <deque>

#include "heartbeat.hpp"
#include "operation.hpp"
#include "wait.hpp"
#include "words.hpp"

namespace det::collectives::node {

class NodeGroup final : public collectives::RankGroup {
public:
    NodeGroup(Seat seat, Options options);
    ~NodeGroup() override;

    Status barrier() override;
    Result<std::vector<std::string>> gather(std::string value) override;
    Result<std::vector<std::string>> allgather(std::string value) override;
    Result<std::string> broadcast(std::string value, Rank from, Status const& refused) override;
    Status run(collectives::TensorCall const& call, Status const& refused) override;
    collectives::Handle start(collectives::TensorCall const& call, Status const& refused) override;
    std::string way_of(collectives::TensorCall const& call) const override;
    Result<collectives::Buffer> allocate(std::size_t size_bytes) override;
    void abandon() noexcept override;
    Status check_ranks() override { return watch_.check(); }
    collectives::SharedWords* shared_words() override { return &words_; }

    /// An operation that was started. Whoever holds the handle shares it with the group.
    struct Started {
        std::unique_ptr<Operation> operation;
        std::optional<Status> result = {};
    };
    /// Goes on with what was started, without waiting.
    Status go_on();
    /// Until this one, and with it those before it, are over.
    Status finish(Started const& wanted);
    Status check_usable() const;

private:
    void finish_started();
    /// Those that were started and use this memory, which is about to go.
    void finish_users_of(Bytes memory);
    /// Of the first that was started.
    void end_first(Status result);
    Status complete(Operation& operation);
    /// Without the stages of an operation: for little data, where every nanosecond shows.
    bool is_little(collectives::TensorCall const& call) const;
    Status reduce_little(collectives::TensorCall const& call);
    [[gnu::noinline]] Status run_in_stages(collectives::TensorCall const& call, Status const& refused);
    /// What all ranks compare, of the operation that is going on.
    collectives::Call said_now(collectives::Call const& call) const;
    bool see_all(std::uint64_t stamp, Bytes payload) const {
        return cores_ == Cores::own && seat_.see_all(stamp, payload.size() > first_payload_bytes);
    }
    /// However long it takes, or whatever they say.
    [[gnu::noinline]] Status await_all(collectives::Call const& said);
    Result<std::vector<std::string>> run_objects(collectives::Call call, std::string value,
                                                 Status const& refused);

    Options options_;
    Plan plan_;
    Seat seat_;
    Watch watch_;
    Cores cores_;
    std::size_t little_below_bytes_;
    NodeWords words_{*this, seat_, watch_, cores_};
    std::optional<Heartbeat> heartbeat_;
    std::deque<std::shared_ptr<Started>> started_;
    bool has_left_ = false;
};

}  // namespace det::collectives::node
