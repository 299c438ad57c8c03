#include "transport_suite.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <vector>

#include "expectation.hpp"

namespace det::transport {
namespace {

using Buffer = std::vector<std::byte>;

/// Bytes that are unique to a message and to each offset in it: sender, receiver, index of the message,
/// offset.
Buffer pattern(Rank from, Rank to, std::size_t index, std::size_t size) {
    struct Stamp {
        int from;
        int to;
        std::uint64_t index;
        std::uint64_t offset;
    };
    Buffer bytes(size);
    for (std::size_t at = 0; at < size; at += sizeof(Stamp)) {
        Stamp const stamp{from.value, to.value, index, at};
        std::memcpy(bytes.data() + at, &stamp, std::min(sizeof stamp, size - at));
    }
    return bytes;
}

Rank at_distance(Transport const& transport, int distance) {
    return {(transport.rank().value + distance + transport.size()) % transport.size()};
}

Status expect_error(Error const& error, std::initializer_list<std::string_view> words) {
    for (auto const word : words) {
        DET_TRY(expect(error.message.find(word) != std::string::npos,
                       fmt::format("'{}' in '{}'", word, error.message)));
    }
    return Ok{};
}

/// Exchanges a message with every rank, including itself. The size depends on sender and receiver.
Status exchange_with_all(Transport& transport, Tag tag, std::size_t index, std::size_t size_factor) {
    auto const size_between = [&](Rank from, Rank to) {
        return static_cast<std::size_t>(from.value * 3 + to.value) * size_factor;
    };
    std::vector<Buffer> incoming, outgoing;
    std::vector<Request> requests;
    for (int i = 0; i < transport.size(); ++i) {
        incoming.emplace_back(size_between({i}, transport.rank()));
        DET_TRY_ASSIGN(auto request, transport.start_receive({i}, tag, incoming.back()));
        requests.push_back(std::move(request));
    }
    for (int i = 0; i < transport.size(); ++i) {
        outgoing.push_back(pattern(transport.rank(), {i}, index, size_between(transport.rank(), {i})));
        DET_TRY_ASSIGN(auto request, transport.start_send({i}, tag, outgoing.back()));
        requests.push_back(std::move(request));
    }
    for (auto& request : requests) DET_TRY(request.finish());
    for (int i = 0; i < transport.size(); ++i) {
        auto const& bytes = incoming[static_cast<std::size_t>(i)];
        DET_TRY(expect(bytes == pattern({i}, transport.rank(), index, bytes.size()),
                       fmt::format("what rank {} sent, at rank {}", i, transport.rank().value)));
    }
    return Ok{};
}

Status pass_around_ring(Transport& transport, std::size_t size, Tag tag) {
    auto const right = at_distance(transport, 1), left = at_distance(transport, -1);
    auto const outgoing = pattern(transport.rank(), right, size, size);
    Buffer incoming(size);
    DET_TRY_ASSIGN(auto const received, transport.exchange({right, outgoing}, {left, incoming}, tag));
    DET_TRY(expect(received == size, fmt::format("{} bytes and not {}", size, received)));
    return expect(incoming == pattern(left, transport.rank(), size, size),
                  fmt::format("the {} bytes of rank {}", size, left.value));
}

Status messages_of_one_tag_keep_their_order(Transport& transport) {
    auto const right = at_distance(transport, 1), left = at_distance(transport, -1);
    constexpr std::size_t messages = 200;
    auto const size_of = [](std::size_t i) { return i * 37 % 6000; };
    std::vector<Buffer> outgoing;
    std::vector<Request> sending;
    for (std::size_t i = 0; i < messages; ++i) {
        outgoing.push_back(pattern(transport.rank(), right, i, size_of(i)));
        DET_TRY_ASSIGN(auto request, transport.start_send(right, Tag{3}, outgoing.back()));
        sending.push_back(std::move(request));
    }
    for (std::size_t i = 0; i < messages; ++i) {
        Buffer incoming(size_of(i));
        DET_TRY(transport.receive(left, Tag{3}, incoming));
        DET_TRY(expect(incoming == pattern(left, transport.rank(), i, incoming.size()),
                       fmt::format("message {} in its place", i)));
    }
    for (auto& request : sending) DET_TRY(request.finish());
    return Ok{};
}

Status tags_do_not_wait_for_each_other(Transport& transport) {
    auto const right = at_distance(transport, 1), left = at_distance(transport, -1);
    std::vector<Tag> tags{{0}, {tag_max}};
    for (std::uint32_t i = 1; i < 500; ++i) tags.push_back({i * 1031});
    std::vector<Buffer> outgoing;
    std::vector<Request> sending;
    for (std::size_t i = 0; i < tags.size(); ++i) {
        outgoing.push_back(pattern(transport.rank(), right, i, i));
        DET_TRY_ASSIGN(auto request, transport.start_send(right, tags[i], outgoing.back()));
        sending.push_back(std::move(request));
    }
    for (std::size_t i = tags.size(); i-- > 0;) {
        Buffer incoming(i);
        DET_TRY(transport.receive(left, tags[i], incoming));
        DET_TRY(expect(incoming == pattern(left, transport.rank(), i, i),
                       fmt::format("the message of tag {}", i)));
    }
    for (auto& request : sending) DET_TRY(request.finish());
    return Ok{};
}

Status a_message_may_be_empty(Transport& transport) {
    for (int i = 0; i < 3; ++i) DET_TRY(pass_around_ring(transport, 0, Tag{4}));
    return Ok{};
}

Status ranks_exchange_in_a_ring_at_any_size(Transport& transport) {
    for (std::size_t const size : {1u, 7u, 64u, 4095u, 4096u, 4097u, 65'536u, 1'000'003u}) {
        DET_TRY(pass_around_ring(transport, size, Tag{5}));
    }
    return Ok{};
}

Status a_large_message_arrives_whole(Transport& transport) {
    return pass_around_ring(transport, std::size_t{64} << 20, Tag{6});
}

Status all_ranks_exchange_with_all_at_once(Transport& transport) {
    for (std::size_t const factor : {1u, 100u, 20'000u})
        DET_TRY(exchange_with_all(transport, Tag{7}, factor, factor));
    return Ok{};
}

Status a_rank_may_exchange_with_itself(Transport& transport) {
    for (std::size_t const size : {0u, 5u, 300'000u}) {
        auto const outgoing = pattern(transport.rank(), transport.rank(), 1, size);
        Buffer incoming(size);
        DET_TRY(transport.exchange({transport.rank(), outgoing}, {transport.rank(), incoming}, Tag{8}));
        DET_TRY(expect(incoming == outgoing, fmt::format("{} bytes from itself", size)));
    }
    auto const alone = transport.send(transport.rank(), Tag{8}, {});
    DET_TRY(expect(!alone, "a send to itself refused"));
    // The other way that the hint names.
    auto const outgoing = pattern(transport.rank(), transport.rank(), 2, 5);
    Buffer incoming(outgoing.size());
    DET_TRY_ASSIGN(auto receiving, transport.start_receive(transport.rank(), Tag{8}, incoming));
    DET_TRY_ASSIGN(auto sending, transport.start_send(transport.rank(), Tag{8}, outgoing));
    DET_TRY(receiving.finish());
    DET_TRY(sending.finish());
    DET_TRY(expect(incoming == outgoing, "a message to itself by start_send"));
    DET_TRY(expect(alone.error().hint.find("start_receive and start_send") != std::string::npos,
                   "a hint to start_receive and start_send"));
    return expect_error(alone.error(), {fmt::format("rank {} sends to itself", transport.rank().value)});
}

Status expect_mismatch(Transport& transport, std::size_t sent, std::size_t expected) {
    auto const right = at_distance(transport, 1), left = at_distance(transport, -1);
    auto const outgoing = pattern(transport.rank(), right, 1, sent);
    Buffer incoming(expected);
    auto const received = transport.exchange({right, outgoing}, {left, incoming}, Tag{9});
    DET_TRY(expect(!received, fmt::format("{} bytes refused where {} are expected", sent, expected)));
    DET_TRY(expect(received.error().code == codes::transport, "an error of the transport"));
    return expect_error(received.error(), {fmt::format("rank {} expected {} bytes from rank {} and got {}",
                                                       transport.rank().value, expected, left.value, sent)});
}

Status a_size_mismatch_is_an_error_that_names_ranks_and_sizes(Transport& transport) {
    constexpr std::pair<std::size_t, std::size_t> sent_and_expected[] = {
        {8, 16}, {16, 8}, {1, 0}, {0, 1}, {200'000, 100'000}, {100'000, 200'000}, {300'000, 2}};
    for (auto const& [sent, expected] : sent_and_expected) {
        DET_TRY(expect_mismatch(transport, sent, expected));
        DET_TRY(pass_around_ring(transport, 100, Tag{9}));  // later messages still arrive
    }
    return Ok{};
}

Status a_receiver_may_accept_smaller_messages(Transport& transport) {
    auto const right = at_distance(transport, 1), left = at_distance(transport, -1);
    for (std::size_t const size : {0u, 99u, 100'000u}) {
        auto const outgoing = pattern(transport.rank(), right, 1, size);
        Buffer incoming(100'000);
        DET_TRY_ASSIGN(auto const received,
                       transport.exchange({right, outgoing}, {left, incoming, Fit::at_most}, Tag{10}));
        incoming.resize(received);
        DET_TRY(expect(incoming == pattern(left, transport.rank(), 1, size), fmt::format("{} bytes", size)));
    }
    Buffer incoming(10);
    auto const received = transport.exchange({right, Buffer(11)}, {left, incoming, Fit::at_most}, Tag{10});
    DET_TRY(expect(!received, "11 bytes refused where 10 have room"));
    return expect_error(received.error(), {"at most 10 bytes", "got 11"});
}

Status a_receive_that_was_dropped_takes_no_message(Transport& transport) {
    auto const right = at_distance(transport, 1), left = at_distance(transport, -1);
    {
        Buffer unused(100);
        DET_TRY(transport.start_receive(left, Tag{11}, unused));
    }
    DET_TRY(exchange_with_all(transport, Tag{12}, 0,
                              1));  // no rank sends before all ranks have dropped their receive
    Buffer incoming(100);
    auto const outgoing = pattern(transport.rank(), right, 2, 100);
    DET_TRY(transport.exchange({right, outgoing}, {left, incoming}, Tag{11}));
    return expect(incoming == pattern(left, transport.rank(), 2, 100),
                  "the message after the dropped receive");
}

Status a_request_can_be_tested_until_it_completes(Transport& transport) {
    auto const right = at_distance(transport, 1), left = at_distance(transport, -1);
    Buffer incoming(50'000);
    auto const outgoing = pattern(transport.rank(), right, 3, incoming.size());
    DET_TRY_ASSIGN(auto receiving, transport.start_receive(left, Tag{13}, incoming));
    DET_TRY_ASSIGN(auto sending, transport.start_send(right, Tag{13}, outgoing));
    for (;;) {
        DET_TRY_ASSIGN(bool const received, receiving.test());
        DET_TRY_ASSIGN(bool const sent, sending.test());
        if (received && sent) break;
    }
    DET_TRY(receiving.finish());
    DET_TRY(sending.finish());
    return expect(incoming == pattern(left, transport.rank(), 3, incoming.size()),
                  "the message that was tested for");
}

Status invalid_ranks_and_tags_are_refused(Transport& transport) {
    DET_TRY(expect(!transport.send({transport.size()}, Tag{1}, {}), "no rank beyond the last"));
    DET_TRY(expect(!transport.receive({-1}, Tag{1}, {}), "no rank below 0"));
    return expect(!transport.exchange({transport.rank(), {}}, {transport.rank(), {}}, Tag{tag_max + 1}),
                  "no tag above the largest");
}

/// All ranks draw the same random plan. Each rank starts its receives and sends of the plan in order.
Status random_messages_arrive_as_planned(Transport& transport) {
    struct Planned {
        Rank from;
        Rank to;
        Tag tag;
        std::size_t size;
    };
    TestRandom random(20261121, 0);  // the same on all ranks
    std::vector<Planned> plan(400);
    for (auto& planned : plan) {
        auto const ranks = static_cast<std::uint64_t>(transport.size());
        planned.from = {static_cast<int>(random() % ranks)};
        planned.to = {static_cast<int>(random() % ranks)};
        planned.tag = {100 + static_cast<std::uint32_t>(random() % 3)};
        planned.size = std::size_t{1} << random() % 16;
        planned.size = random() % planned.size;
    }
    std::vector<Buffer> buffers(plan.size());
    std::vector<Buffer> sources(plan.size());
    std::vector<Request> requests;
    for (std::size_t i = 0; i < plan.size(); ++i) {
        auto const& [from, to, tag, size] = plan[i];
        if (to == transport.rank()) {
            buffers[i].resize(size);
            DET_TRY_ASSIGN(auto request, transport.start_receive(from, tag, buffers[i]));
            requests.push_back(std::move(request));
        }
        if (from == transport.rank()) {
            sources[i] = pattern(from, to, i, size);
            DET_TRY_ASSIGN(auto request, transport.start_send(to, tag, sources[i]));
            requests.push_back(std::move(request));
        }
    }
    for (auto& request : requests) DET_TRY(request.finish());
    for (std::size_t i = 0; i < plan.size(); ++i) {
        if (plan[i].to != transport.rank()) continue;
        DET_TRY(expect(buffers[i] == pattern(plan[i].from, plan[i].to, i, plan[i].size),
                       fmt::format("message {} of the plan", i)));
    }
    return Ok{};
}

constexpr TransportCase cases[] = {
    {"messages of one tag keep their order", messages_of_one_tag_keep_their_order},
    {"tags do not wait for each other", tags_do_not_wait_for_each_other},
    {"a message may be empty", a_message_may_be_empty},
    {"ranks exchange in a ring at any size", ranks_exchange_in_a_ring_at_any_size},
    {"a large message arrives whole", a_large_message_arrives_whole},
    {"all ranks exchange with all at once", all_ranks_exchange_with_all_at_once},
    {"a rank may exchange with itself", a_rank_may_exchange_with_itself},
    {"a size mismatch is an error that names ranks and sizes",
     a_size_mismatch_is_an_error_that_names_ranks_and_sizes},
    {"a receiver may accept smaller messages", a_receiver_may_accept_smaller_messages},
    {"a receive that was dropped takes no message", a_receive_that_was_dropped_takes_no_message},
    {"a request can be tested until it completes", a_request_can_be_tested_until_it_completes},
    {"invalid ranks and tags are refused", invalid_ranks_and_tags_are_refused},
    {"random messages arrive as planned", random_messages_arrive_as_planned},
};

}  // namespace

std::span<TransportCase const> transport_cases() { return cases; }

}  // namespace det::transport
