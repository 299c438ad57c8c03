// The messages between the nodes of a run and its supervisor.
#include "node_messages.hpp"

#include <boost/test/unit_test.hpp>

using namespace det;
using namespace det::transport;
using namespace det::transport::node_messages;

BOOST_AUTO_TEST_SUITE(node_messages_test)

BOOST_AUTO_TEST_CASE(messages_come_back_as_they_were_and_damaged_ones_do_not) {
    Endpoint const six{"2001:db8:1111:2222:3333:4444:5555:6666", 65535};
    Beat full{3, 1};
    for (std::size_t i = 0; i < words_max; ++i)
        full.heard.push_back({static_cast<std::uint16_t>(i), ~std::uint64_t{0}});
    for (int i = 0; i < static_cast<int>(departures_max); ++i) full.departures.push_back({i, 7});
    for (FromNode const& message :
         std::vector<FromNode>{Hello{}, Hello{9, 3, six}, Beat{1, {}}, Beat{2, 0},
                               Beat{4, {}, {{2, 5}, {9, 1}}, {{NodeMonitor::nodes_max - 1, 1}}}, full,
                               Leaving{}, Examined{5, 6, Reach::refused}}) {
        auto const frame = render(message);
        BOOST_TEST(frame.size() <= frame_limit_bytes);
        auto const back = parse_from_node(frame);
        BOOST_REQUIRE(back.has_value());
        BOOST_TEST(render(*back) == frame);
        for (std::size_t size = 0; size < frame.size(); ++size)
            BOOST_TEST(!parse_from_node(std::string_view(frame).substr(0, size)), size);
        BOOST_TEST(!parse_from_node(frame + '\0'));
        BOOST_TEST(!parse_from_supervisor(frame));
    }
    for (FromSupervisor const& message :
         std::vector<FromSupervisor>{BeatAnswer{9, node_requests::all, 5, 8}, Examine{1, 2, six},
                                     UseParent{NodeMonitor::nodes_max - 1, six}, LeavingKnown{}}) {
        auto const frame = render(message);
        BOOST_TEST(frame.size() <= answer_limit_bytes);
        auto const back = parse_from_supervisor(frame);
        BOOST_REQUIRE(back.has_value());
        BOOST_TEST(render(*back) == frame);
        for (std::size_t size = 0; size < frame.size(); ++size)
            BOOST_TEST(!parse_from_supervisor(std::string_view(frame).substr(0, size)), size);
        BOOST_TEST(!parse_from_supervisor(frame + '\0'));
    }
    BOOST_TEST(!parse_from_node(render(Hello{.listener = Endpoint{"n1", 9}})));
    BOOST_TEST(!parse_from_node(render(Hello{.listener = Endpoint{"10.0.0.1", 0}})));
    BOOST_TEST(!parse_from_node(render(Examined{0, 0, static_cast<Reach>(4)})));
    BOOST_TEST(!parse_from_node(render(Examined{NodeMonitor::nodes_max, 0, Reach::refused})));
    BOOST_TEST(!parse_from_node(render(Hello{0, -2})));
    BOOST_TEST(!parse_from_node(render(Hello{0, NodeMonitor::nodes_max})));
    for (auto const& words : std::vector<std::vector<NodeWord>>{
             {{0, 0}}, {{words_max, 1}}, {{3, 1}, {3, 1}}, {{3, 1}, {2, 1}}, {words_max + 1, {0, 1}}})
        BOOST_TEST(!parse_from_node(render(Beat{1, {}, words})));
    BOOST_TEST(!parse_from_node(render(Beat{1, {}, {}, {{-1, 0}}})));
    BOOST_TEST(!parse_from_node(render(Beat{1, {}, {}, {{NodeMonitor::nodes_max, 0}}})));
    BOOST_TEST(!parse_from_node(render(Beat{1, {}, {}, {departures_max + 1, {0, 0}}})));
    BOOST_TEST(!parse_from_supervisor(render(BeatAnswer{0, node_requests::all + 1})));
    BOOST_TEST(!parse_from_supervisor(render(UseParent{-1, six})));
    BOOST_TEST(!parse_from_supervisor(render(UseParent{1, {"10.0.0.1", 0}})));
}

BOOST_AUTO_TEST_CASE(the_address_of_a_monitor_is_read_back_or_refused) {
    NodeMonitorAddress const address{40123, 64, {"10.0.0.1", "2001:db8::1"}};
    auto const text = render_node_monitor_address(address);
    BOOST_TEST(text == "40123 64 10.0.0.1 2001:db8::1");
    auto const back = parse_node_monitor_address(text);
    BOOST_REQUIRE(back.has_value());
    BOOST_TEST(render_node_monitor_address(*back) == text);
    for (auto const* wrong : {"", "1", "1 2", "0 2 10.0.0.1", "70000 2 10.0.0.1", "1 0 10.0.0.1",
                              "1 16385 10.0.0.1", "1 2 n1", "1 2  10.0.0.1", "x 2 10.0.0.1", "1 2 10.0.0.1 "})
        BOOST_TEST(!parse_node_monitor_address(wrong), wrong);
}

BOOST_AUTO_TEST_SUITE_END()
