// The connections for copies of snapshots between nodes, with two ranks that are threads, each on a node of
// its own.
#include "partner_messages.hpp"

#include <det/transport/handshake.hpp>

#include <arpa/inet.h>
#include <boost/test/unit_test.hpp>
#include <fstream>
#include <numeric>
#include <poll.h>
#include <set>
#include <sstream>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../conformance/expectation.hpp"
#include "../transport/rank_threads.hpp"
#include "core_support.hpp"

using namespace det;
using namespace det::core;

namespace partner_messages_test {

constexpr int ranks = 2;

/// The ports at which this process listens.
std::set<std::uint16_t> listening_ports() {
    std::set<std::string> own;
    for (auto const& name : must(list_directory("/proc/self/fd"))) {
        struct stat info {};
        if (::stat(("/proc/self/fd/" + name).c_str(), &info) == 0 && S_ISSOCK(info.st_mode))
            own.insert(std::to_string(info.st_ino));
    }
    std::set<std::uint16_t> ports;
    std::ifstream sockets("/proc/self/net/tcp");
    std::string line;
    std::getline(sockets, line);
    while (std::getline(sockets, line)) {
        std::istringstream words(line);
        std::string number, local, remote, state, queues, timer, retransmits, uid, timeout, inode;
        words >> number >> local >> remote >> state >> queues >> timer >> retransmits >> uid >> timeout >>
            inode;
        bool const listens = state == "0A";
        if (listens && own.contains(inode))
            ports.insert(
                static_cast<std::uint16_t>(std::stoul(local.substr(local.find(':') + 1), nullptr, 16)));
    }
    return ports;
}

/// A process that does not know the secret: it sends an answer with a wrong proof, and then a message.
class Stranger {
public:
    explicit Stranger(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        must_equal_zero(
            ::connect(socket_.get(), reinterpret_cast<sockaddr const*>(&address), sizeof address));
        std::string bytes =
            transport::render_answer({"guessed", "tcp", ranks}, Rank{1},
                                     std::string(transport::nonce_bytes, '0'), transport::make_nonce());
        bytes += std::string(4096, '\1');
        (void)::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    }
    /// What it has received when the server has closed the connection.
    std::string received() const {
        std::string all;
        char bytes[4096];
        for (;;) {
            pollfd entry{socket_.get(), POLLIN, 0};
            if (::poll(&entry, 1, 30'000) != 1) return all + " and the connection is still open";
            auto const count = ::read(socket_.get(), bytes, sizeof bytes);
            if (count <= 0) return all;
            all.append(bytes, static_cast<std::size_t>(count));
        }
    }

private:
    static void must_equal_zero(int result) {
        if (result != 0) must(Status(os_error("connect a stranger", errno)));
    }
    UniqueFd socket_;
};

struct Fixture : RunFixture {
    std::string address = "127.0.0.1";
    std::mutex mutex;
    std::vector<std::string> warnings;

    Fixture() { must(write_file(run.rendezvous(), "")); }

    void run_contexts(std::function<Status(ContextData&)> const& body) {
        transport::check_ranks(transport::run_ranks(ranks, [&](auto transport) -> Status {
            auto const rank = transport->rank().value;
            DET_TRY_ASSIGN(auto distributed,
                           collectives::DistributedContext::make(std::move(transport), {0, 1, rank, ranks}));
            DET_TRY_ASSIGN(auto loaded, load_info(environment));
            loaded->rendezvous.network.address = rank == 0 ? "127.0.0.1" : address;
            loaded->rendezvous.network.chief_address = "127.0.0.1";
            ContextData data{clock,   std::move(loaded), std::move(distributed),
                             nullptr, nullptr,           std::nullopt};
            data.warn = [this](std::string const& warning) {
                std::lock_guard const lock(mutex);
                warnings.push_back(warning);
            };
            return body(data);
        }));
    }
    /// Each rank sends `count` numbers to the other one.
    static Status exchange(ContextData const& data, checkpoint::RankMessages& messages, std::size_t count) {
        int const other = 1 - data.distributed.rank().value;
        std::vector<int> own(count), theirs(count), expected(count);
        std::iota(own.begin(), own.end(), data.distributed.rank().value);
        std::iota(expected.begin(), expected.end(), other);
        DET_TRY(messages.transfer(
            checkpoint::RankMessages::Outgoing{other, std::as_bytes(std::span(own))},
            checkpoint::RankMessages::Incoming{other, std::as_writable_bytes(std::span(theirs))}));
        if (theirs == expected) return Ok{};
        return Error{codes::internal, "other numbers have arrived"};
    }
};

}  // namespace partner_messages_test

BOOST_FIXTURE_TEST_SUITE(partner_messages_test, Fixture)

BOOST_AUTO_TEST_CASE(strangers_are_rejected_at_all_ports_and_the_ranks_messages_arrive) {
    auto const before = listening_ports();
    std::size_t ports = 0;
    run_contexts([&](ContextData& data) -> Status {
        DET_TRY_ASSIGN(auto const messages, open_partner_messages(data));
        if (messages == nullptr) return Error{codes::internal, "there are no messages"};
        std::vector<Stranger> strangers;
        if (data.distributed.is_chief()) {
            for (auto const port : listening_ports()) {
                if (!before.contains(port)) strangers.emplace_back(port);
            }
            ports = strangers.size();
        }
        for (std::size_t const count : {1U, 1'000U, 1'000'000U}) DET_TRY(exchange(data, *messages, count));
        DET_TRY(data.distributed.barrier());
        for (int i = 0; i < 100; ++i) DET_TRY(exchange(data, *messages, 10));
        for (auto const& stranger : strangers) {
            auto const received = stranger.received();
            bool const is_rejected =
                received.size() <= transport::greeting_bytes ||
                received[transport::greeting_bytes] == static_cast<char>(transport::Admission::wrong_proof);
            if (!is_rejected || received.size() > transport::greeting_bytes + transport::verdict_bytes)
                return Error{codes::internal, "a stranger has received more than a rejection: " + received};
        }
        DET_TRY(exchange(data, *messages, 1'000));
        return data.distributed.barrier();
    });
    BOOST_TEST(ports >= 3u);  // the monitor's, and one of each rank
    BOOST_TEST((listening_ports() == before));
}

BOOST_AUTO_TEST_CASE(a_rank_that_is_gone_ends_the_transfers_of_the_other_one) {
    run_contexts([&](ContextData& data) -> Status {
        DET_TRY_ASSIGN(auto messages, open_partner_messages(data));
        DET_TRY(exchange(data, *messages, 10));
        if (!data.distributed.is_chief()) {
            messages.reset();
            return data.distributed.barrier();
        }
        int number = 0;
        auto const failed = messages->transfer(
            std::nullopt,
            checkpoint::RankMessages::Incoming{1, std::as_writable_bytes(std::span(&number, 1))});
        DET_TRY(data.distributed.barrier());
        if (failed) return Error{codes::internal, "a message has arrived from a rank that is gone"};
        return failed.error().code == codes::transport ? Status(Ok{}) : Status(failed.error());
    });
}

BOOST_AUTO_TEST_CASE(without_the_address_of_a_node_there_are_none_and_the_chief_warns) {
    address = "";
    run_contexts([&](ContextData& data) -> Status {
        DET_TRY_ASSIGN(auto const messages, open_partner_messages(data));
        if (messages == nullptr) return Ok{};
        return Error{codes::internal, "there are messages"};
    });
    BOOST_REQUIRE(warnings.size() == 1u);
    BOOST_TEST(warnings[0].find("a node does not know its address") != std::string::npos, warnings[0]);
}

BOOST_AUTO_TEST_CASE(the_switch_is_the_last_one_before_the_node) {
    auto const found = [](std::string const& nodes, std::string const& pattern) {
        Environment of_slurm;
        of_slurm.set("SLURM_TOPOLOGY_ADDR", nodes);
        of_slurm.set("SLURM_TOPOLOGY_ADDR_PATTERN", pattern);
        return find_switch_name(of_slurm);
    };
    BOOST_TEST(found("root.leaf3.n1", "switch.switch.node") == "leaf3");
    BOOST_TEST(found("root.leaf3.n1.site.org", "switch.switch.node") == "leaf3");
    BOOST_TEST(found("n1", "node") == "");
    BOOST_TEST(found("", "switch.node") == "");
    BOOST_TEST(find_switch_name(Environment()) == "");
}

BOOST_AUTO_TEST_SUITE_END()
