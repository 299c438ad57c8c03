#pragma once
#include <det/foundation/result.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>

struct sqlite3;
struct sqlite3_stmt;

namespace det::tracker::index {

enum class Access {
    read,
    write,         // survives a crash of the process at any moment. Only one process may write (README.md)
    write_unsafe,  // fast, for a new file that is renamed when it is complete
};

/// A value that is stored as a BLOB.
struct Bytes {
    std::string_view bytes;
};

/// A row of a query's result; valid during the call that gets it. Columns count from 0.
class Row {
public:
    explicit Row(sqlite3_stmt* statement) : statement_(statement) {}

    bool is_null(int column) const;
    std::int64_t integer(int column) const;
    double real(int column) const;
    std::string_view bytes(int column) const;  // of a TEXT or a BLOB
    std::string text(int column) const { return std::string(bytes(column)); }

private:
    sqlite3_stmt* statement_;
};

/// A connection to an SQLite database. Not thread-safe. Errors: codes::damaged if the file is no database or
/// is damaged, codes::timed_out if another process has it locked for 5 s, else codes::file_system.
class Database {
public:
    static Result<Database> open(std::filesystem::path const& path, Access access);

    /// Runs one statement with values for its parameters: integers, floating point numbers, text, Bytes, and
    /// optionals of these. `sql` must be a literal: the statement is prepared once and kept by its address.
    template <class... Values>
    Status run(char const* sql, Values const&... values) {
        return for_each(
            sql, [](Row const&) {}, values...);
    }
    /// Runs a query and calls `visit(Row const&)` for each row, which returns void or a Status; an error ends
    /// the query.
    template <class Visit, class... Values>
    Status for_each(char const* sql, Visit&& visit, Values const&... values) {
        Borrowed statement(*this, sql);
        DET_TRY(statement.prepare());
        int parameter = 0;
        (statement.bind(++parameter, values), ...);
        for (;;) {
            DET_TRY_ASSIGN(bool const has_row, statement.step());
            if (!has_row) return Ok{};
            if constexpr (std::is_void_v<std::invoke_result_t<Visit&, Row const&>>) {
                visit(Row(statement.get()));
            } else {
                DET_TRY(visit(Row(statement.get())));
            }
        }
    }
    /// Runs several statements without parameters and without results.
    Status run_script(std::string const& sql);

    std::int64_t last_row_id() const;

private:
    struct CloseDatabase {
        void operator()(sqlite3* database) const;
    };
    struct FinalizeStatement {
        void operator()(sqlite3_stmt* statement) const;
    };
    using OwnedStatement = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;

    /// A statement that was taken from the prepared ones and is put back at the end.
    class Borrowed {
    public:
        Borrowed(Database& database, char const* sql) : database_(database), sql_(sql) {}
        Borrowed(Borrowed const&) = delete;
        ~Borrowed();

        Status prepare();
        Result<bool> step();
        sqlite3_stmt* get() const { return statement_.get(); }

        void bind(int parameter, std::int64_t value);
        void bind(int parameter, double value);
        void bind(int parameter, std::string_view text);
        void bind(int parameter, Bytes value);
        void bind_null(int parameter);
        template <class Value>
        void bind(int parameter, Value const& value) {
            if constexpr (std::is_integral_v<Value>) {
                bind(parameter, static_cast<std::int64_t>(value));
            } else {
                bind(parameter, std::string_view(value));
            }
        }
        template <class Value>
        void bind(int parameter, std::optional<Value> const& value) {
            value ? bind(parameter, *value) : bind_null(parameter);
        }

    private:
        Database& database_;
        char const* sql_;
        OwnedStatement statement_;
    };

    Database(std::filesystem::path path, std::unique_ptr<sqlite3, CloseDatabase> handle)
        : path_(std::move(path)), handle_(std::move(handle)) {}
    Error last_error() const;

    std::filesystem::path path_;
    std::unique_ptr<sqlite3, CloseDatabase> handle_;
    std::unordered_map<char const*, OwnedStatement> prepared_;  // by the address of the literal
};

/// A transaction, which is rolled back unless it was committed. A reader sees one state of the database
/// during a transaction.
class Transaction {
public:
    static Result<Transaction> begin(Database& database);
    Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
    Transaction& operator=(Transaction&&) = delete;
    ~Transaction();

    Status commit();

private:
    explicit Transaction(Database& database) : database_(&database) {}
    Database* database_;
};

}  // namespace det::tracker::index
