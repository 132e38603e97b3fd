//! Functions that tell of the server, the session and the arguments themselves.

use super::call::{Answer, Call, NULL};
use super::{Function, function};
use crate::SqlError;
use crate::build::{Derive, claim, is_stringy};
use crate::eval::Value;
use crate::tree::Expr;
use value::collation::aggregate::Coercibility;
use value::{Collation, ColumnType, Datum};

pub static FUNCTIONS: &[Function] = &[
    function("database", (0, 0), name_type, database, "the current database, or NULL")
        .per_statement(),
    function("schema", (0, 0), name_type, database, "the current database, or NULL")
        .per_statement(),
    function("user", (0, 0), user_type, user, "the user and host the client gave").per_statement(),
    function("session_user", (0, 0), user_type, user, "the user and host the client gave")
        .per_statement(),
    function("system_user", (0, 0), user_type, user, "the user and host the client gave")
        .per_statement(),
    function(
        "current_user",
        (0, 0),
        user_type,
        current_user,
        "the account the session was authenticated as",
    )
    .per_statement(),
    function("current_role", (0, 0), role_type, current_role, "the active roles: NONE")
        .per_statement(),
    function("roles_graphml", (0, 0), role_type, graphml, "the graph of roles: an empty one")
        .per_statement(),
    function("version", (0, 0), version_type, version, "the server's version string")
        .per_statement(),
    function(
        "icu_version",
        (0, 0),
        version_type,
        icu_version,
        "the version of the regular expression library",
    )
    .per_statement(),
    function("connection_id", (0, 0), id_type, connection_id, "the id of this connection")
        .per_statement(),
    function(
        "ps_current_thread_id",
        (0, 0),
        id_type,
        thread_id,
        "the thread id of this connection",
    )
    .per_statement(),
    function("ps_thread_id", (1, 1), id_type, thread_of, "the thread id of a connection")
        .per_statement(),
    function(
        "last_insert_id",
        (0, 1),
        last_id_type,
        last_insert_id,
        "the first generated value of the last INSERT, or the argument, remembered",
    )
    .sees_null()
    .volatile(),
    function("row_count", (0, 0), count_type, row_count, "rows changed by the previous statement")
        .per_statement(),
    function("found_rows", (0, 0), count_type, found_rows, "rows of the previous SELECT")
        .per_statement(),
    function("charset", (1, 1), told_type, charset, "the character set of the argument")
        .sees_null(),
    function("collation", (1, 1), told_type, collation, "the collation of the argument")
        .sees_null(),
    function(
        "coercibility",
        (1, 1),
        coercibility_type,
        coercibility,
        "how strongly the argument claims its collation",
    )
    .sees_null(),
    function(
        "benchmark",
        (2, 2),
        truth_type,
        benchmark,
        "0, having evaluated the second argument so many times",
    )
    .sees_null()
    .volatile(),
];

type Derived = Result<ColumnType, SqlError>;

fn system(d: &mut Derive<'_>, chars: u32) -> ColumnType {
    let ty = crate::build::string(chars, Collation::Utf8mb3GeneralCi);
    d.collation = Collation::Utf8mb3GeneralCi;
    d.coercibility = Some(Coercibility::SysConst);
    ty
}

fn name_type(d: &mut Derive<'_>) -> Derived {
    Ok(system(d, 64))
}

fn user_type(d: &mut Derive<'_>) -> Derived {
    Ok(system(d, 288))
}

fn role_type(d: &mut Derive<'_>) -> Derived {
    Ok(system(d, 16_777_216 / 4))
}

fn version_type(d: &mut Derive<'_>) -> Derived {
    Ok(system(d, 60).not_null())
}

fn word_type(d: &mut Derive<'_>) -> Derived {
    Ok(system(d, 64))
}

/// A word about the argument.
fn told_type(d: &mut Derive<'_>) -> Derived {
    let ty = word_type(d)?;
    d.coercibility = Some(Coercibility::Coercible);
    Ok(ty)
}

fn id_type(d: &mut Derive<'_>) -> Derived {
    Ok(d.uint(21))
}

fn last_id_type(d: &mut Derive<'_>) -> Derived {
    Ok(d.uint(21))
}

fn count_type(d: &mut Derive<'_>) -> Derived {
    Ok(d.int(21))
}

fn truth_type(d: &mut Derive<'_>) -> Derived {
    Ok(ColumnType { nullable: true, ..d.int(1) })
}

/// The claim is known now: it becomes the call's only argument.
fn coercibility_type(d: &mut Derive<'_>) -> Derived {
    // A variable that was never set yields to others, but says that it is one.
    let known = match crate::variables::is_unset(&d.args[0].expr) {
        true => Coercibility::Implicit as i64,
        false => claim(&d.args[0], d.settings).coercibility as i64,
    };
    d.args[0] = crate::tree::Typed::bigint(Expr::int(known));
    Ok(ColumnType { nullable: false, ..d.int(10) })
}

fn database<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    Ok(c.env.database().map_or(NULL, |name| name.to_string().into()))
}

fn user<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    Ok(c.env.user().into())
}

fn current_user<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    // 'user'@'host' without its quotes.
    Ok(catalog::Viewer::account(c.env).replace('\'', "").into())
}

fn current_role<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    Ok(c.env.active_roles().into())
}

fn graphml<'v>(_: &mut Call<'_, 'v>) -> Answer<'v> {
    Err(SqlError::unsupported("ROLES_GRAPHML"))
}

fn version<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    Ok(c.env.version().into())
}

fn icu_version<'v>(_: &mut Call<'_, 'v>) -> Answer<'v> {
    Ok(Value::Datum(Datum::Bytes(b"77.1")))
}

fn connection_id<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    Ok(c.env.connection_id().into())
}

fn thread_id<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let own = c.env.connection_id();
    Ok(c.env.thread_of(own).map_or(NULL, Into::into))
}

fn thread_of<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let id = u64::try_from(c.integer(0)).ok();
    Ok(id.and_then(|id| c.env.thread_of(id)).map_or(NULL, Into::into))
}

fn last_insert_id<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    if c.len() == 0 {
        return Ok(c.env.last_insert_id().into());
    }
    let id = if c.is_null(0) { None } else { Some(c.bits(0)) };
    c.env.set_last_insert_id(id.unwrap_or(0));
    Ok(id.map_or(NULL, Into::into))
}

fn row_count<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    Ok(c.env.row_count().into())
}

fn found_rows<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    Ok((c.env.found_rows() as i64).into())
}

/// The collation of the argument: `binary` for what is no text.
fn collation_of(c: &Call<'_, '_>) -> Collation {
    let ty = c.ty(0);
    match is_stringy(&ty) {
        true => ty.collation,
        false if ty.kind == value::Kind::Json => Collation::Utf8mb4Bin,
        false => Collation::Binary,
    }
}

fn charset<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    Ok(Value::Datum(Datum::Bytes(collation_of(c).charset().name().as_bytes())))
}

fn collation<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    Ok(Value::Datum(Datum::Bytes(collation_of(c).name().as_bytes())))
}

fn coercibility<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    Ok(c.take(0))
}

fn benchmark<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    if c.is_null(0) {
        return Ok(NULL);
    }
    let times = c.int(0);
    if times < 0 {
        let value = value::format::to_text(&c.datum(0));
        c.incorrect_value("count", value.as_bytes(), "benchmark");
        return Ok(NULL);
    }
    // The argument was evaluated; what it comes to is the same every time, or nobody sees it.
    let row = crate::Row::default();
    for n in 1..times {
        if n % 1024 == 0 && !c.env.sleep(0.0) {
            break;
        }
        let argument = &c.site.arguments[1];
        if !argument.is_row_constant() {
            break;
        }
        crate::eval(argument, &row, c.env)?;
    }
    Ok(0i64.into())
}
