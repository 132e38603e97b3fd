//! Connects by sqlx in every way that it knows, with an account that has rights on one schema only, and tells what secured the
//! connection and whether what it sends and gets is whole.
//!
//! `tls_sqlx PORT AUTHORITY OTHER-AUTHORITY`

use sqlx::mysql::{MySqlConnectOptions, MySqlPoolOptions, MySqlSslMode};
use sqlx::{Error, MySqlPool, Row};

const ROWS: i64 = 500;

/// A schema's owner.
fn options(port: u16, mode: MySqlSslMode, authority: &str) -> MySqlConnectOptions {
    let options = MySqlConnectOptions::new().host("127.0.0.1").port(port);
    let options = options.username("owned").password("owned").database("owned");
    options.ssl_mode(mode).ssl_ca(authority)
}

/// The number of the server's error.
fn number(error: &Error) -> u16 {
    let of_server = error.as_database_error().and_then(|e| e.try_downcast_ref());
    of_server.map_or(0, sqlx::mysql::MySqlDatabaseError::number)
}

/// Rows in a transaction, one that is rolled back, a value of megabytes, errors; what was seen.
async fn work(pool: &MySqlPool) -> Result<String, Error> {
    let version = sqlx::query("SHOW STATUS LIKE 'Ssl_version'").fetch_one(pool).await?;
    let version: String = version.get(1);
    sqlx::query("DROP TABLE IF EXISTS t").execute(pool).await?;
    sqlx::query("CREATE TABLE t (a BIGINT PRIMARY KEY, b LONGTEXT, c DOUBLE, d VARBINARY(9))")
        .execute(pool)
        .await?;
    for (from, kept) in [(0, true), (ROWS, false)] {
        let mut transaction = pool.begin().await?;
        for a in from..from + ROWS {
            let insert = sqlx::query("INSERT INTO t VALUES (?, ?, ?, ?)");
            let insert = insert.bind(a).bind("x".repeat(a as usize)).bind(a as f64 / 8.0);
            insert.bind(&b"\0\xff"[..]).execute(&mut *transaction).await?;
        }
        match kept {
            true => transaction.commit().await?,
            false => transaction.rollback().await?,
        }
    }
    let rows = sqlx::query("SELECT a, b, c, d FROM t ORDER BY a").fetch_all(pool).await?;
    let whole = rows.iter().enumerate().all(|(at, row)| {
        let (a, b, c, d): (i64, String, f64, Vec<u8>) =
            (row.get(0), row.get(1), row.get(2), row.get(3));
        a == at as i64 && b == "x".repeat(at) && c == at as f64 / 8.0 && d == b"\0\xff"
    });
    let long = "0123456789".repeat(400_000);
    sqlx::query("INSERT INTO t (a, b) VALUES (-1, ?)").bind(&long).execute(pool).await?;
    let back: String = sqlx::query_scalar("SELECT b FROM t WHERE a = -1").fetch_one(pool).await?;
    let mut numbers = Vec::new();
    for wrong in ["SELECT nosuch FROM t", "SELECT * FROM mysql.user", "CREATE DATABASE other"] {
        numbers.push(sqlx::query(wrong).execute(pool).await.map_or_else(|e| number(&e), |_| 0));
    }
    let version = if version.is_empty() { "-" } else { &version };
    Ok(format!("{version} {} {whole} {} {numbers:?}", rows.len(), back == long))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().collect();
    let port = arguments[1].parse().expect("a port");
    let connect = |mode, authority: &str| {
        MySqlPoolOptions::new().max_connections(4).connect_with(options(port, mode, authority))
    };
    for mode in [
        MySqlSslMode::Disabled,
        MySqlSslMode::Preferred,
        MySqlSslMode::Required,
        MySqlSslMode::VerifyCa,
        MySqlSslMode::VerifyIdentity,
    ] {
        let pool = connect(mode, &arguments[2]).await?;
        println!("{mode:?} {}", work(&pool).await?);
        pool.close().await;
    }
    // The authority of another server knows this one not.
    let stranger = connect(MySqlSslMode::VerifyCa, &arguments[3]).await;
    let refused = matches!(stranger, Err(Error::Tls(_) | Error::Io(_)));
    println!("stranger {}", if refused { "refused" } else { "let in" });
    Ok(())
}
