#include <det/tracker/index/database.hpp>

#include <fmt/format.h>
#include <sqlite3.h>

namespace det::tracker::index {
namespace {

ErrorCode code_of(int sqlite_error) {
    switch (sqlite_error & 0xff) {
        case SQLITE_CORRUPT:
        case SQLITE_NOTADB:
        case SQLITE_FORMAT:
            return codes::damaged;
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
            return codes::timed_out;
        default:
            return codes::file_system;
    }
}

std::string_view hint_of(ErrorCode code) {
    if (code == codes::damaged) return "make it anew from the journals with 'det-tracker rebuild'";
    if (code == codes::file_system) return "its directory must be writable and have room";
    return "";
}

Error sqlite_error(std::filesystem::path const& path, sqlite3* handle) {
    auto const code = code_of(handle == nullptr ? SQLITE_NOMEM : sqlite3_extended_errcode(handle));
    return {code,
            fmt::format("the index '{}': {}", path.string(),
                        handle == nullptr ? "out of memory" : sqlite3_errmsg(handle)),
            std::string(hint_of(code))};
}

// Pages of 16 KiB: most of the index are columns of up to 64 KiB. The file is not mapped: an error of the
// disk would then be a SIGBUS.
constexpr char common_settings[] =
    "PRAGMA page_size=16384; PRAGMA mmap_size=0; PRAGMA trusted_schema=OFF; PRAGMA temp_store=MEMORY;"
    "PRAGMA cache_size=-8000; PRAGMA secure_delete=OFF;";

/// The settings of each kind of access. Readers never write a checkpoint: SQLite before 3.51.3 can damage a
/// file if two connections do so at the same time. Readers keep few pages in memory: most pages are read once
/// for an answer, and the page cache of the kernel has them too. Touching new memory for them took 6 ms of a
/// first answer.
std::string settings_of(Access access) {
    switch (access) {
        case Access::read:
            return "PRAGMA query_only=ON; PRAGMA mmap_size=0; PRAGMA cache_size=-2000;";
        case Access::write:
            return fmt::format("{} PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;", common_settings);
        case Access::write_unsafe:
            return fmt::format(
                "{} PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=OFF;"
                "PRAGMA synchronous=OFF;",
                common_settings);
    }
    return {};
}

constexpr int busy_timeout_ms = 5000;

}  // namespace

bool Row::is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
std::int64_t Row::integer(int column) const { return sqlite3_column_int64(statement_, column); }
double Row::real(int column) const { return sqlite3_column_double(statement_, column); }

std::string_view Row::bytes(int column) const {
    auto const* const data = static_cast<char const*>(sqlite3_column_blob(statement_, column));
    auto const size = sqlite3_column_bytes(statement_, column);
    return data == nullptr ? std::string_view() : std::string_view(data, static_cast<std::size_t>(size));
}

void Database::CloseDatabase::operator()(sqlite3* database) const { sqlite3_close_v2(database); }
void Database::FinalizeStatement::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Error Database::last_error() const { return sqlite_error(path_, handle_.get()); }

Result<Database> Database::open(std::filesystem::path const& path, Access access) {
    auto const flags =
        access == Access::read ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    sqlite3* raw = nullptr;
    auto const opened =
        sqlite3_open_v2(path.c_str(), &raw, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
    std::unique_ptr<sqlite3, CloseDatabase> handle(raw);
    if (opened != SQLITE_OK) return sqlite_error(path, raw);
    sqlite3_busy_timeout(raw, busy_timeout_ms);
    if (access == Access::read) sqlite3_wal_autocheckpoint(raw, 0);
    Database database(path, std::move(handle));
    DET_TRY(database.run_script(settings_of(access)));
    return database;
}

Status Database::run_script(std::string const& sql) {
    if (sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) return last_error();
    return Ok{};
}

std::int64_t Database::last_row_id() const { return sqlite3_last_insert_rowid(handle_.get()); }

Database::Borrowed::~Borrowed() {
    if (!statement_) return;
    sqlite3_reset(statement_.get());
    sqlite3_clear_bindings(statement_.get());
    database_.prepared_.insert_or_assign(sql_, std::move(statement_));
}

Status Database::Borrowed::prepare() {
    if (auto found = database_.prepared_.extract(sql_)) {
        statement_ = std::move(found.mapped());
        return Ok{};
    }
    sqlite3_stmt* raw = nullptr;
    auto const result =
        sqlite3_prepare_v3(database_.handle_.get(), sql_, -1, SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
    statement_.reset(raw);
    if (result != SQLITE_OK) return database_.last_error();
    return Ok{};
}

Result<bool> Database::Borrowed::step() {
    auto const result = sqlite3_step(statement_.get());
    if (result == SQLITE_ROW) return true;
    if (result == SQLITE_DONE) return false;
    return database_.last_error();
}

// SQLITE_STATIC: the bound values outlive their use by the statement, so that SQLite need not copy them.

void Database::Borrowed::bind(int parameter, std::int64_t value) {
    sqlite3_bind_int64(statement_.get(), parameter, value);
}
void Database::Borrowed::bind(int parameter, double value) {
    sqlite3_bind_double(statement_.get(), parameter, value);
}
void Database::Borrowed::bind(int parameter, std::string_view text) {
    sqlite3_bind_text64(statement_.get(), parameter, text.data() == nullptr ? "" : text.data(), text.size(),
                        SQLITE_STATIC, SQLITE_UTF8);
}
void Database::Borrowed::bind(int parameter, Bytes value) {
    sqlite3_bind_blob64(statement_.get(), parameter, value.bytes.data() == nullptr ? "" : value.bytes.data(),
                        value.bytes.size(), SQLITE_STATIC);
}
void Database::Borrowed::bind_null(int parameter) { sqlite3_bind_null(statement_.get(), parameter); }

Result<Transaction> Transaction::begin(Database& database) {
    DET_TRY(database.run("BEGIN"));
    return Transaction(database);
}

Transaction::~Transaction() {
    if (database_ != nullptr) (void)database_->run("ROLLBACK");
}

Status Transaction::commit() {
    DET_TRY(database_->run("COMMIT"));
    database_ = nullptr;
    return Ok{};
}

}  // namespace det::tracker::index
