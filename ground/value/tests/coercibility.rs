//! Coercibility rules against a real server's: `coercibility.tsv` has what MySQL 9.7 said of each pair and of
//! some triples of strings: `result` (CONCAT: its collation and coercibility) or `compare` (`=`: ok), or
//! the error; then the strings, as collation/coercibility/only ASCII.

use value::Collation;
use value::collation::aggregate::{Claim, Coercibility, Purpose, aggregate};

const CONNECTION: Collation = Collation::Utf8mb4_0900AiCi;

fn coercibility(number: &str) -> Coercibility {
    use Coercibility::{Coercible, Explicit, Ignorable, Implicit, None, Numeric, SysConst};
    let all = [Explicit, Implicit, SysConst, Coercible, Numeric, Ignorable, None];
    let number: u8 = number.parse().expect("a number");
    all.into_iter().find(|c| *c as u8 == number).expect("a coercibility")
}

fn claim(text: &str) -> Claim {
    let mut parts = text.split('/');
    let mut next = || parts.next().expect("collation/coercibility/ascii");
    let collation = Collation::from_name(next()).expect("a collation");
    Claim { collation, coercibility: coercibility(next()), ascii: next() == "1" }
}

fn ours(purpose: Purpose, operation: &str, claims: &[Claim]) -> String {
    match aggregate(claims, purpose, CONNECTION) {
        Ok(_) if purpose == Purpose::Compare => "ok".to_string(),
        Ok(met) => format!("{}/{}", met.collation.name(), met.coercibility as u8),
        Err(conflict) => {
            let (number, text) = conflict.error(operation);
            format!("{number} {text}")
        }
    }
}

#[test]
fn strings_meet_where_mysqls_do() {
    let mut wrong = Vec::new();
    let mut looked_at = 0;
    for line in include_str!("coercibility.tsv").lines() {
        let mut columns = line.split('\t');
        let (what, theirs) = (columns.next().expect("what"), columns.next().expect("answer"));
        let claims: Vec<Claim> = columns.map(claim).collect();
        let (purpose, operation) = match what {
            "compare" => (Purpose::Compare, "="),
            _ => (Purpose::Result, "concat"),
        };
        // They met, but a constant has characters that the common character set lacks.
        let converts = theirs.starts_with("3854 ");
        // Numbers and NULL are not compared as strings.
        let is_text = |c: &Claim| c.coercibility < Coercibility::Numeric;
        if purpose == Purpose::Compare && !claims.iter().all(is_text) {
            continue;
        }
        looked_at += 1;
        let ours = ours(purpose, operation, &claims);
        let same = if converts { !ours.starts_with("12") } else { ours == theirs };
        if !same {
            wrong.push(format!("{line}\n    here {ours}"));
        }
    }
    assert!(looked_at > 900, "the table is whole: {looked_at}");
    assert!(wrong.is_empty(), "{} of {looked_at} differ:\n{}", wrong.len(), wrong.join("\n"));
}
