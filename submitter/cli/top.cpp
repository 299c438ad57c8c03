#include <algorithm>
#include <fmt/format.h>
#include <sstream>
#include <unistd.h>

#include "command.hpp"
#include "output/live_screen.hpp"
#include "top/running_trials.hpp"

namespace det::cli {
namespace {

using namespace std::chrono_literals;
using SteadyTime = std::chrono::steady_clock::time_point;

constexpr double top_interval_min_s = 1, top_interval_max_s = 3600;
constexpr int interval_per_cost = 10;  // reading takes a tenth of the time at most
constexpr std::ptrdiff_t all_rows = std::ptrdiff_t{1} << 30;

/// The session of a full screen: what it prints to `err` is kept, because it would destroy the screen.
class QuietSession {
public:
    explicit QuietSession(Session const& session)
        : session_{session.environment, session.out,   messages_,      {Colour::never, "det-submit"},
                   session.clock,       session.slurm, session.format, session.cache,
                   session.destination} {
        session_.foreign_root = session.foreign_root;
    }
    Session& session() { return session_; }
    /// The first line of what was printed since the last call.
    std::string take_message() {
        auto const text = std::exchange(messages_, std::ostringstream()).str();
        return text.substr(0, text.find('\n'));
    }

private:
    std::ostringstream messages_;
    Session session_;
};

class Top final : public LiveScreen {
public:
    Top(RunningTrialsReader reader, QuietSession& session, double interval_s, bool has_colour)
        : reader_(std::move(reader)), session_(session), interval_s_(interval_s) {
        view_.has_colour = has_colour;
    }

    void read() override {
        auto& clock = session_.session().clock;
        auto const begin = clock.steady_now();
        auto running = reader_.read();
        view_.message = session_.take_message();
        if (running) {
            view_.running = *std::move(running);
        } else {
            view_.message = running.error().message + "; the shown trials are old";
        }
        auto const end = clock.steady_now();
        std::chrono::milliseconds const interval(static_cast<std::int64_t>(interval_s_ * 1000));
        next_reading_ = end + std::max<SteadyTime::duration>(interval, interval_per_cost * (end - begin));
        // A repeated key must not read more often than once in the shortest interval.
        earliest_reading_ = end + 1s;
    }

    SteadyTime next_reading() const override { return next_reading_; }

    std::vector<std::string> render(ScreenSize size) override { return render_top(view_, size); }

    bool on_key(Key key, ScreenSize size) override {
        auto const page = static_cast<std::ptrdiff_t>(size.rows / 2);
        switch (key) {
            case Key::quit:
                return false;
            case Key::refresh:
                next_reading_ = std::min(next_reading_, earliest_reading_);
                break;
            case Key::up:
                scroll(-1);
                break;
            case Key::down:
                scroll(1);
                break;
            case Key::page_up:
                scroll(-page);
                break;
            case Key::page_down:
                scroll(page);
                break;
            case Key::first:
                scroll(-all_rows);
                break;
            case Key::last:
                scroll(all_rows);
                break;
            default:
                break;
        }
        return true;
    }

private:
    /// render_top() keeps the last trials at the end of the screen.
    void scroll(std::ptrdiff_t rows) {
        auto const first = static_cast<std::ptrdiff_t>(view_.first_row) + rows;
        view_.first_row = static_cast<std::size_t>(std::max<std::ptrdiff_t>(first, 0));
    }

    RunningTrialsReader reader_;
    QuietSession& session_;
    double interval_s_;
    TopView view_;
    SteadyTime next_reading_, earliest_reading_;
};

class TopCommand final : public Command {
public:
    std::vector<Option> options() override {
        return {{"--once", &once_, "print the trials once"},
                {"--interval", &interval_s_, "seconds between two readings; at least 1"}};
    }

    Outcome run(Session& session) override {
        if (!(interval_s_ >= top_interval_min_s && interval_s_ <= top_interval_max_s)) {
            return Error{codes::usage, fmt::format("--interval {} is not between {} and {} seconds",
                                                   interval_s_, top_interval_min_s, top_interval_max_s)};
        }
        bool const is_live = !once_ && !session.wants_json() &&
                             session.destination == Destination::terminal && ::isatty(STDIN_FILENO) == 1;
        return is_live ? show_screen(session) : print_once(session);
    }

private:
    static Outcome print_once(Session& session) {
        DET_TRY_ASSIGN(auto reader, RunningTrialsReader::open(session));
        DET_TRY_ASSIGN(auto const running, reader.read());
        if (session.wants_json()) {
            session.answer(to_json(running));
        } else {
            print_table(session, running_trials_table(running, false));
        }
        return ExitCode::done;
    }

    Outcome show_screen(Session& session) const {
        QuietSession quiet(session);
        DET_TRY_ASSIGN(auto reader, RunningTrialsReader::open(quiet.session()));
        DET_TRY_ASSIGN(auto terminal, ScreenTerminal::open(STDIN_FILENO, STDOUT_FILENO, "top",
                                                           "use 'det-submit top --once' in pipes"));
        Top top(std::move(reader), quiet, interval_s_, answer_style_of(session).has_colour);
        return show_live(top, terminal, session.clock);
    }

    bool once_ = false;
    double interval_s_ = 2;
};

}  // namespace

std::unique_ptr<Command> make_top() { return std::make_unique<TopCommand>(); }

}  // namespace det::cli
