// The ports of a configuration, and those that a run gets.
#include "ports.hpp"

#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "supervisor_fixture.hpp"

using namespace det;
using namespace det::launch::supervisor;

namespace ports_test {

/// Listens on a port of this host while it lives.
struct Listener {
    UniqueFd socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    std::uint16_t port = 0;

    Listener() {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        socklen_t size = sizeof address;
        auto* const generic = reinterpret_cast<sockaddr*>(&address);
        BOOST_REQUIRE(::bind(socket.get(), generic, size) == 0);
        BOOST_REQUIRE(::listen(socket.get(), 1) == 0);
        BOOST_REQUIRE(::getsockname(socket.get(), generic, &size) == 0);
        port = ntohs(address.sin_port);
    }
};

}  // namespace ports_test

BOOST_FIXTURE_TEST_SUITE(ports_test, SupervisorFixture)

BOOST_AUTO_TEST_CASE(ports_are_read_from_both_keys) {
    JsonValue const config = parse_json(R"({"environment": {
        "ports": {"http": 8080, "low": 80, "high": 65536, "text": "8080"},
        "proxy_ports": [{"proxy_port": 6006, "proxy_tcp": true}, {}]}})");
    BOOST_TEST((configured_ports(config) == Ports{{"http", 8080}, {"6006", 6006}}));
    BOOST_TEST(configured_ports(Json::object()).empty());
    BOOST_TEST(configured_ports(parse_json(R"({"environment": {"ports": null}})")).empty());
}

BOOST_AUTO_TEST_CASE(a_variable_has_the_name_of_its_port) {
    BOOST_TEST(port_variable("http") == "DET_PORT_HTTP");
    BOOST_TEST(port_variable("my-port.2") == "DET_PORT_MY_PORT_2");
    BOOST_TEST(port_variable("6006") == "DET_PORT_6006");
}

BOOST_AUTO_TEST_CASE(a_port_that_is_taken_is_replaced_by_the_next_free_one) {
    Listener const taken;
    PortReservations reservations;
    auto const first = reservations.reserve({{"http", taken.port}});
    BOOST_TEST(first.at("http") > taken.port);
    auto const second = reservations.reserve({{"http", taken.port}});
    BOOST_TEST(second.at("http") > first.at("http"));
    reservations.release(first);
    BOOST_TEST((reservations.reserve({{"http", taken.port}}) == first));
}

BOOST_AUTO_TEST_CASE(runs_that_share_a_node_get_different_ports) {
    step_is(R"(echo "$DET_PORT_HTTP $DET_PORTS" >"$DET_RUN_PATH/ports"
        until [ -e "$DET_EXPERIMENT_PATH/trials/0/runs/0/ports" ] && [ -e "$DET_EXPERIMENT_PATH/trials/1/runs/0/ports" ]; do
            sleep 0.02; done)");
    must(make_directories(experiment.trial(1).path()));
    auto a = packed_assignment(2);
    a.spec.config = parse_json(R"({"environment": {"ports": {"http": 8080}}})");
    BOOST_TEST(supervise(a) == 0);
    auto const seen = [&](std::uint32_t trial) {
        return must(read_file(experiment.trial(trial).run(0).path() / "ports"));
    };
    BOOST_TEST(seen(0) != seen(1));
    for (std::uint32_t const trial : {0u, 1u}) {
        auto const text = seen(trial);
        auto const port = text.substr(0, text.find(' '));
        BOOST_TEST(parse_integer<int>(port).value_or(0) >= 8080, text);
        BOOST_TEST(text == port + " {\"http\":" + port + "}\n");
    }
}

BOOST_AUTO_TEST_SUITE_END()
