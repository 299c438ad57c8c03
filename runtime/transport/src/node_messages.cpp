#include "node_messages.hpp"

#include <det/foundation/network_addresses.hpp>
#include <det/foundation/text.hpp>

#include <fmt/format.h>

#include "frames.hpp"

namespace det::transport {
namespace node_messages {
namespace {

constexpr char hello_letter = 'H', beat_letter = 'B', examined_letter = 'R', leaving_letter = 'G';
constexpr char answer_letter = 'A', examine_letter = 'P', parent_letter = 'T', known_letter = 'L';

struct Renderer {
    std::string operator()(Hello const& hello) const {
        std::string frame(1, hello_letter);
        append_value(frame, hello.session);
        append_value(frame, hello.failed_parent);
        append_value(frame, std::uint8_t{hello.listener.has_value()});
        if (hello.listener) append_endpoint(frame, *hello.listener);
        return frame;
    }
    std::string operator()(Beat const& beat) const {
        std::string frame(1, beat_letter);
        append_value(frame, beat.number);
        append_value(frame, std::uint8_t{beat.activity.has_value()});
        append_value(frame, beat.activity.value_or(0));
        append_value(frame, static_cast<std::uint16_t>(beat.heard.size()));
        for (auto const& word : beat.heard) {
            append_value(frame, word.index);
            append_value(frame, word.bits);
        }
        append_value(frame, static_cast<std::uint16_t>(beat.departures.size()));
        for (auto const& departure : beat.departures) {
            append_value(frame, departure.node);
            append_value(frame, departure.session);
        }
        return frame;
    }
    std::string operator()(Examined const& examined) const {
        std::string frame(1, examined_letter);
        append_value(frame, examined.node);
        append_value(frame, examined.round);
        append_value(frame, static_cast<std::uint8_t>(examined.reach));
        return frame;
    }
    std::string operator()(Leaving const&) const { return {leaving_letter}; }
    std::string operator()(BeatAnswer const& answer) const {
        std::string frame(1, answer_letter);
        append_value(frame, answer.number);
        append_value(frame, answer.requests);
        append_value(frame, answer.age_ms);
        append_value(frame, answer.known);
        return frame;
    }
    std::string operator()(Examine const& examine) const {
        std::string frame(1, examine_letter);
        append_value(frame, examine.node);
        append_value(frame, examine.round);
        append_endpoint(frame, examine.listener);
        return frame;
    }
    std::string operator()(UseParent const& parent) const {
        std::string frame(1, parent_letter);
        append_value(frame, parent.node);
        append_endpoint(frame, parent.listener);
        return frame;
    }
    std::string operator()(LeavingKnown const&) const { return {known_letter}; }

private:
    static void append_endpoint(std::string& frame, Endpoint const& endpoint) {
        append_value(frame, endpoint.port);
        append_text(frame, endpoint.address);
    }
};

/// Reads the values behind the letter of a frame. is_whole() is false if values are missing or left.
class Fields {
public:
    explicit Fields(std::string_view frame) : reader_(frame.substr(1)) {}

    template <std::integral T>
    T number() {
        auto const value = reader_.value<T>();
        is_short_ = is_short_ || !value;
        return value.value_or(T{});
    }
    Endpoint endpoint() {
        Endpoint endpoint;
        endpoint.port = number<std::uint16_t>();
        auto const address = reader_.text();
        is_short_ = is_short_ || !address;
        endpoint.address = std::string(address.value_or(""));
        is_wrong_ = is_wrong_ || endpoint.port == 0 || !is_numeric_address(endpoint.address);
        return endpoint;
    }
    Reach reach() {
        auto const value = number<std::uint8_t>();
        is_wrong_ = is_wrong_ || value > static_cast<std::uint8_t>(Reach::unreachable);
        return is_wrong_ ? Reach::unknown : static_cast<Reach>(value);
    }
    /// The number of a node; whether the run has this node is for the receiver to check.
    std::int32_t node() {
        auto const value = number<std::int32_t>();
        is_wrong_ = is_wrong_ || value < 0 || value >= NodeMonitor::nodes_max;
        return value;
    }
    bool flag() {
        auto const value = number<std::uint8_t>();
        is_wrong_ = is_wrong_ || value > 1;
        return value == 1;
    }
    /// Words by ascending index, none of them empty.
    std::vector<NodeWord> words() {
        std::vector<NodeWord> words(count(words_max));
        int previous = -1;
        for (auto& word : words) {
            word = {number<std::uint16_t>(), number<std::uint64_t>()};
            is_wrong_ = is_wrong_ || word.index >= words_max || word.index <= previous || word.bits == 0;
            previous = word.index;
        }
        return words;
    }
    std::vector<Departure> departures() {
        std::vector<Departure> departures(count(departures_max));
        for (auto& departure : departures) departure = {node(), number<std::uint32_t>()};
        return departures;
    }
    bool is_whole() const { return !is_short_ && !is_wrong_ && reader_.rest().empty(); }

private:
    std::size_t count(std::size_t max) {
        auto const value = number<std::uint16_t>();
        is_wrong_ = is_wrong_ || value > max;
        return is_wrong_ ? 0 : value;
    }

    FrameReader reader_;
    bool is_short_ = false, is_wrong_ = false;
};

}  // namespace

std::string purpose_of_node(int node) { return fmt::format("{}/{}", purpose, node); }

std::string render(FromNode const& message) { return std::visit(Renderer(), message); }
std::string render(FromSupervisor const& message) { return std::visit(Renderer(), message); }

std::optional<FromNode> parse_from_node(std::string_view frame) {
    if (frame.empty()) return std::nullopt;
    Fields fields(frame);
    std::optional<FromNode> message;
    if (frame.front() == hello_letter) {
        Hello hello{fields.number<std::uint32_t>(), fields.number<std::int32_t>()};
        if (hello.failed_parent < -1 || hello.failed_parent >= NodeMonitor::nodes_max) return std::nullopt;
        if (fields.flag()) hello.listener = fields.endpoint();
        message = std::move(hello);
    } else if (frame.front() == beat_letter) {
        Beat beat{fields.number<std::uint64_t>()};
        bool const has_activity = fields.flag();
        auto const activity = fields.number<std::uint64_t>();
        if (has_activity) beat.activity = activity;
        beat.heard = fields.words();
        beat.departures = fields.departures();
        message = std::move(beat);
    } else if (frame.front() == examined_letter) {
        Examined examined;
        examined.node = fields.node();
        examined.round = fields.number<std::uint32_t>();
        examined.reach = fields.reach();
        message = examined;
    } else if (frame.front() == leaving_letter) {
        message = Leaving{};
    }
    return fields.is_whole() ? message : std::nullopt;
}

std::optional<FromSupervisor> parse_from_supervisor(std::string_view frame) {
    if (frame.empty()) return std::nullopt;
    Fields fields(frame);
    std::optional<FromSupervisor> message;
    if (frame.front() == answer_letter) {
        BeatAnswer answer;
        answer.number = fields.number<std::uint64_t>();
        answer.requests = fields.number<std::uint32_t>();
        answer.age_ms = fields.number<std::uint32_t>();
        answer.known = fields.number<std::uint64_t>();
        if ((answer.requests & ~node_requests::all) != 0) return std::nullopt;
        message = answer;
    } else if (frame.front() == examine_letter) {
        Examine examine;
        examine.node = fields.node();
        examine.round = fields.number<std::uint32_t>();
        examine.listener = fields.endpoint();
        message = std::move(examine);
    } else if (frame.front() == parent_letter) {
        UseParent parent;
        parent.node = fields.node();
        parent.listener = fields.endpoint();
        message = std::move(parent);
    } else if (frame.front() == known_letter) {
        message = LeavingKnown{};
    }
    return fields.is_whole() ? message : std::nullopt;
}

}  // namespace node_messages

std::string render_node_monitor_address(NodeMonitorAddress const& address) {
    return fmt::format("{} {} {}", address.port, address.nodes, fmt::join(address.addresses, " "));
}

std::optional<NodeMonitorAddress> parse_node_monitor_address(std::string_view text) {
    auto const words = split(text, ' ');
    if (words.size() < 3) return std::nullopt;
    auto const port = parse_integer<std::uint16_t>(words[0]);
    auto const nodes = parse_integer<int>(words[1]);
    if (!port || *port == 0 || !nodes || *nodes < 1 || *nodes > NodeMonitor::nodes_max) return std::nullopt;
    NodeMonitorAddress address{*port, *nodes};
    for (std::size_t i = 2; i < words.size(); ++i) {
        if (!is_numeric_address(std::string(words[i]))) return std::nullopt;
        address.addresses.emplace_back(words[i]);
    }
    return address;
}

}  // namespace det::transport
