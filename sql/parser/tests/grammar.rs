//! What the grammar accepts, what it refuses, and that no input makes it panic.
//!
//! `productions.txt`: productions, each with accepted (`+`) and rejected (`-`) examples, as MySQL 9.7 took them
//! (`tests/oracle_grammar.rs`); behind `=>` what error 1064 quotes. `shapes.txt`: statements of clients.
//! `accepted.txt`: one statement a line, with the tree node it becomes behind `=>`. `refused.txt`: one
//! statement a line, with the text that error 1064 quotes.

use parser::digest::DigestLimits;
use parser::{ErrorKind, SqlMode, parse};

fn node(sql: &str) -> Result<String, String> {
    let variant = |shown: String| shown.chars().take_while(|c| c.is_alphanumeric()).collect();
    match parse(sql.as_bytes(), SqlMode::DEFAULT) {
        Ok(parser::ast::Statement::Unsupported(what)) => Ok(format!("1235 {}", what.construct)),
        Ok(parser::ast::Statement::Ddl(ddl)) => Ok(variant(format!("{ddl:?}"))),
        Ok(statement) => Ok(variant(format!("{statement:?}"))),
        Err(error) => Err(error.near(sql.as_bytes()).into_owned()),
    }
}

#[test]
fn every_accepted_statement_becomes_its_node() {
    let mut wrong = Vec::new();
    for line in include_str!("accepted.txt").lines().filter(|l| !l.is_empty()) {
        let (sql, expected) = line.rsplit_once(" => ").expect("a line with =>");
        let got = node(sql);
        if got.as_deref() != Ok(expected) {
            wrong.push(format!("{sql}\n  expected {expected}, got {got:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_refused_statement_is_quoted_where_it_goes_wrong() {
    let mut wrong = Vec::new();
    for line in include_str!("refused.txt").lines().filter(|l| !l.is_empty()) {
        let (sql, expected) = line.rsplit_once(" => ").expect("a line with =>");
        let got = node(sql);
        let expected = if expected == "(end)" { "" } else { expected };
        if got.as_ref().err().map(String::as_str) != Some(expected) {
            wrong.push(format!("{sql}\n  expected {expected:?}, got {got:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What a rejected example ends in: the text that 1064 quotes, or another number.
fn refusal(sql: &str) -> Option<String> {
    let parsed = parser::parse_next(sql.as_bytes(), 0, SqlMode::DEFAULT, true);
    let error = match parsed {
        Err(error) => error,
        Ok(parsed) => return (parsed.next < sql.len()).then(|| sql[parsed.next..].to_string()),
    };
    Some(match &error.kind {
        ErrorKind::Syntax | ErrorKind::SyntaxBecause(_) => {
            let near = error.near(sql.as_bytes()).into_owned();
            if near.is_empty() { "(end)".to_string() } else { near }
        }
        ErrorKind::Other(number, ..) => format!("error {number}"),
        other => format!("{other:?}"),
    })
}

#[test]
fn every_production_has_an_accepted_and_a_rejected_example() {
    let mut wrong = Vec::new();
    let mut sides = (1, 1);
    for line in include_str!("productions.txt").lines().chain(["# end"]) {
        if let Some(name) = line.strip_prefix("# ") {
            if sides.0 == 0 || sides.1 == 0 {
                wrong.push(format!("before {name}: {sides:?} examples"));
            }
            sides = (0, 0);
        } else if let Some(sql) = line.strip_prefix("+ ") {
            sides.0 += 1;
            if let Some(refusal) = refusal(sql) {
                wrong.push(format!("{sql}\n  is refused: {refusal}"));
            }
        } else if let Some((sql, expected)) =
            line.strip_prefix("- ").and_then(|l| l.rsplit_once(" => "))
        {
            sides.1 += 1;
            if refusal(sql).as_deref() != Some(expected) {
                wrong.push(format!("{sql}\n  expected {expected}, got {:?}", refusal(sql)));
            }
        } else {
            wrong.push(format!("not a line of the list: {line}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Statements that clients were seen to send.
#[test]
fn shapes_that_clients_send_are_accepted() {
    let mut wrong = Vec::new();
    for sql in include_str!("shapes.txt").lines().filter(|l| !l.is_empty()) {
        if let Some(refusal) = refusal(sql) {
            wrong.push(format!("{sql}\n  {refusal}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_empty_text_is_empty_and_not_wrong() {
    for sql in ["", "  ", "-- only a comment", "/* x */"] {
        let error = parse(sql.as_bytes(), SqlMode::DEFAULT).expect_err("nothing there");
        assert_eq!(error.kind, ErrorKind::Empty, "{sql:?}");
    }
}

#[test]
fn operators_bind_as_in_mysqls_precedence_table() {
    let same = |a: &str, b: &str| {
        let tree = |sql: &str| {
            format!("{:?}", parse(format!("DO {sql}").as_bytes(), SqlMode::DEFAULT).expect(sql))
        };
        assert_eq!(tree(a), tree(b), "{a}  |  {b}");
    };
    same("1 + 2 * 3", "1 + (2 * 3)");
    same("1 - 2 - 3", "(1 - 2) - 3");
    same("a OR b AND c", "a OR (b AND c)");
    same("a XOR b AND c", "a XOR (b AND c)");
    same("NOT a = b", "NOT (a = b)");
    same("a = b + 1", "a = (b + 1)");
    same("a & b | c", "(a & b) | c");
    same("a | b << c", "a | (b << c)");
    same("a << b + c", "a << (b + c)");
    same("a * b ^ c", "a * (b ^ c)");
    same("- a ^ b", "(- a) ^ b");
    same("a BETWEEN 1 AND 2 AND c", "(a BETWEEN 1 AND 2) AND c");
    same("NOT a BETWEEN 1 AND 2", "NOT (a BETWEEN 1 AND 2)");
    same("a LIKE b OR c", "(a LIKE b) OR c");
    same("a IN (1) = b", "(a IN (1)) = b");
    same("a OR b XOR c", "a OR (b XOR c)");
    same("a XOR NOT b AND c", "a XOR ((NOT b) AND c)");
    same("a || b AND c", "a OR (b AND c)");
    same("NOT a IS NULL", "NOT (a IS NULL)");
    same("a = b IS NULL", "(a = b) IS NULL");
    same("a = b = c", "(a = b) = c");
    same("a < b BETWEEN c AND d", "a < (b BETWEEN c AND d)");
    same("a BETWEEN b AND c BETWEEN d AND e", "a BETWEEN b AND (c BETWEEN d AND e)");
    same("a LIKE b = c", "(a LIKE b) = c");
    same("a REGEXP b | c", "a REGEXP (b | c)");
    same("a + b LIKE c", "(a + b) LIKE c");
    same("a + INTERVAL 1 DAY = b", "(a + INTERVAL 1 DAY) = b");
    same("a - INTERVAL 1 DAY + b", "(a - INTERVAL 1 DAY) + b");
    same("! a = b", "(! a) = b");
    same("! a + b", "(! a) + b");
    same("- a COLLATE utf8mb4_bin", "- (a COLLATE utf8mb4_bin)");
    same("BINARY a COLLATE utf8mb4_bin", "BINARY (a COLLATE utf8mb4_bin)");
    same("BINARY a = b", "(BINARY a) = b");
    same("a COLLATE utf8mb4_bin ^ b", "(a COLLATE utf8mb4_bin) ^ b");
    same("@a := b OR c", "@a := (b OR c)");
    same("@a := @b := c", "@a := (@b := c)");
    same("a & b + c", "a & (b + c)");
    same("a DIV b MOD c", "(a DIV b) MOD c");
    same("a AND b BETWEEN c AND d AND e", "a AND (b BETWEEN c AND d) AND e");
}

#[test]
fn modes_change_what_binds() {
    let tree =
        |sql: &str, mode| format!("{:?}", parse(format!("DO {sql}").as_bytes(), mode).expect(sql));
    let pipes = SqlMode::PIPES_AS_CONCAT;
    assert_eq!(tree("a || b = c", pipes), tree("(a || b) = c", pipes));
    assert_eq!(tree("a || b ^ c", pipes), tree("(a || b) ^ c", pipes));
    assert_ne!(tree("a || b", pipes), tree("a || b", SqlMode::DEFAULT));
    let high = SqlMode::HIGH_NOT_PRECEDENCE;
    assert_eq!(tree("NOT a = b", high), tree("(NOT a) = b", high));
    assert_eq!(tree("NOT a BETWEEN b AND c", high), tree("(NOT a) BETWEEN b AND c", high));
    let ansi = SqlMode::ANSI_QUOTES;
    assert_eq!(tree("\"a\"", ansi), tree("`a`", SqlMode::DEFAULT));
    assert_eq!(tree("count (a)", SqlMode::IGNORE_SPACE), tree("count(a)", SqlMode::DEFAULT));
    assert_ne!(tree("count (a)", SqlMode::DEFAULT), tree("count(a)", SqlMode::DEFAULT));
    assert_eq!(tree(r"'a\'", SqlMode::NO_BACKSLASH_ESCAPES), tree(r"'a\\'", SqlMode::DEFAULT));
}

#[test]
fn deep_nesting_is_an_error_and_no_overflow() {
    // As a session's thread: it says how much stack it has.
    const STACK_BYTES: usize = 64 << 20;
    let run = || {
        stdx::stack::begin(STACK_BYTES);
        parse_deeply();
    };
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(run);
    thread.unwrap().join().unwrap();
}

fn parse_deeply() {
    for (open, close) in [
        ("(", ")"),
        ("NOT ", ""),
        ("- ", ""),
        ("(SELECT ", ")"),
        ("CASE WHEN ", " THEN 1 END"),
        ("f(", ")"),
    ] {
        let sql = format!("SELECT {}1{}", open.repeat(20_000), close.repeat(20_000));
        let _ = parse(sql.as_bytes(), SqlMode::DEFAULT);
    }
    let chain = format!("SELECT 1{}", " + 1".repeat(100_000));
    let _ = parse(chain.as_bytes(), SqlMode::DEFAULT);
}

#[test]
fn random_and_damaged_texts_never_panic() {
    let accepted: Vec<&str> = include_str!("accepted.txt")
        .lines()
        .filter_map(|l| l.rsplit_once(" => "))
        .map(|l| l.0)
        .collect();
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below.max(1) as u64) as usize
    };
    let mut buffer = parser::cut::Cut::default();
    for round in 0..20_000 {
        let mut text = accepted[random(accepted.len())].as_bytes().to_vec();
        for _ in 0..1 + random(4) {
            let at = random(text.len());
            match random(4) {
                0 => text[at] = random(256) as u8,
                1 => drop(text.remove(at)),
                2 => text.truncate(at.max(1)),
                _ => {
                    let other = accepted[random(accepted.len())].as_bytes();
                    let cut = random(other.len());
                    text.splice(at..at, other[cut..].iter().copied());
                }
            }
            if text.is_empty() {
                text.push(b' ');
            }
        }
        let mode = if round % 2 == 0 {
            SqlMode::DEFAULT
        } else {
            SqlMode::ANSI_QUOTES.with(SqlMode::NO_BACKSLASH_ESCAPES)
        };
        let limits = DigestLimits { made: 1024, told: 64 };
        let _ = parser::parse_digested(&text, 0, mode, true, limits);
        if parser::cut::cut(&text, mode, &mut buffer) {
            let _ = parser::cut::parse(&text, mode, buffer.literals(), limits);
        }
    }
}
