#pragma once
#include <det/collectives/device/device_group.hpp>
#include <det/collectives/two_level.hpp>

#include <fmt/format.h>

#include "../../../conformance/expectation.hpp"
#include "../../transport/rank_threads.hpp"
#include "communicator.hpp"
#include "fake_devices.hpp"

// Ranks with fake devices, as threads.
namespace det::collectives::device {

using namespace collectives;
using transport::run_ranks;
using transport::Transport;

using ContextBody = std::function<Status(DistributedContext& context)>;
using MakeHost = std::function<Result<std::unique_ptr<RankGroup>>(std::unique_ptr<Transport>)>;

inline Result<std::unique_ptr<RankGroup>> by_messages(std::unique_ptr<Transport> transport) {
    return std::unique_ptr<RankGroup>(std::make_unique<Communicator>(std::move(transport), Tuning{}));
}

/// Each rank is on a node of its own.
inline Result<std::unique_ptr<RankGroup>> by_two_levels(std::unique_ptr<Transport> transport) {
    Topology const topology{0, 1, transport->rank().value, transport->size()};
    return make_two_level(std::move(transport), make_single_rank(), topology);
}

inline std::vector<Status> run_devices(int ranks, FakeDevices& devices, ContextBody const& body,
                                       liveness::WaitPolicy const& waits = {},
                                       MakeHost const& make_host = by_messages) {
    return run_ranks(ranks, [&](auto transport) -> Status {
        Topology const topology{transport->rank().value, transport->size()};
        auto backend = std::make_shared<FakeBackend>(devices, transport->rank().value);
        DET_TRY_ASSIGN(auto host, make_host(std::move(transport)));
        DET_TRY_ASSIGN(auto context,
                       DistributedContext::make(make_device_group(std::move(host), std::move(backend), waits),
                                                topology));
        return body(context);
    });
}

inline Status expect_words(Status const& result, std::initializer_list<std::string_view> words) {
    DET_TRY(expect(!result, "an error"));
    for (auto const word : words) {
        auto const& message = result.error().message;
        DET_TRY(expect(message.find(word) != std::string::npos, fmt::format("'{}' in '{}'", word, message)));
    }
    return Ok{};
}

}  // namespace det::collectives::device
