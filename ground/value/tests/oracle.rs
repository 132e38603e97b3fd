//! Every weight against a real server's WEIGHT_STRING. Run by hand (tools/README.md says how):
//! `WEIGHTS=FOLDER cargo test -p value --test oracle -- --ignored`

use std::path::Path;
use value::Collation;

fn differences(folder: &str, file: &str, collation: Collation) -> Vec<String> {
    let path = Path::new(folder).join(file);
    let text = std::fs::read_to_string(&path).expect("the server's weights are there");
    let mut out = Vec::new();
    for line in text.lines() {
        let (c, theirs) = line.split_once('\t').expect("code point, weights");
        let c: u32 = c.parse().expect("a code point");
        let Some(c) = char::from_u32(c) else { continue };
        let mut key = Vec::new();
        collation.sort_key(c.to_string().as_bytes(), &mut key);
        if collation.pads_space() {
            // Ours ends with the mark of the string's end; theirs keeps the character's own weight.
            key.truncate(2);
        }
        let ours: String = key.iter().map(|b| format!("{b:02X}")).collect();
        if ours != theirs {
            out.push(format!("U+{:04X} {}: {ours}, server {theirs}", c as u32, collation.name()));
        }
    }
    assert!(text.lines().count() > 60_000, "{} is whole", path.display());
    out
}

#[test]
#[ignore = "needs the weights of a real server"]
fn every_weight_is_the_servers() {
    let folder =
        std::env::var("WEIGHTS").expect("WEIGHTS names the folder with the server's weights");
    let mut all = differences(&folder, "general.tsv", Collation::Utf8mb4GeneralCi);
    all.extend(differences(&folder, "uca.tsv", Collation::Utf8mb4_0900AiCi));
    let first: Vec<_> = all.iter().take(20).collect();
    assert!(all.is_empty(), "{} differences, the first: {first:#?}", all.len());
}
