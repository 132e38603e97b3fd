use super::*;
use proptest::prelude::*;

fn doc(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    parse(text.as_bytes(), &mut out).unwrap_or_else(|e| panic!("{text}: {e:?}"));
    assert!(check(&out), "{text}");
    out
}

fn print(bytes: &[u8]) -> String {
    String::from_utf8(to_text(JsonRef::new(bytes))).unwrap()
}

#[test]
fn text_comes_back_in_mysqls_form() {
    for (text, want) in [
        ("null", "null"),
        (" [1 ,2.50,1e2, null,true,\"x\\u00e9\\n\"] ", r#"[1, 2.5, 100.0, null, true, "xé\n"]"#),
        (r#"{"bb":1,"a":{},"b":[],"bb":2}"#, r#"{"a": {}, "b": [], "bb": 2}"#),
        ("18446744073709551615", "18446744073709551615"),
        ("18446744073709551616", "1.8446744073709552e19"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("1e20", "1e20"),
        (r#""\ud83d\ude00""#, "\"😀\""),
    ] {
        assert_eq!(print(&doc(text)), want);
    }
}

#[test]
fn what_is_no_text_names_the_place() {
    let deep = "[".repeat(101);
    for (text, what, at) in [
        ("", "The document is empty.", 0),
        ("{", "Missing a name for object member.", 1),
        ("{\"a\"", "Missing a colon after a name of object member.", 4),
        ("[1", "Missing a comma or ']' after an array element.", 2),
        ("1 2", "The document root must not be followed by other values.", 2),
        ("abc", "Invalid value.", 0),
        ("nul", "Invalid value.", 3),
        ("1.", "Miss fraction part in number.", 2),
        ("1e999", "Number too big to be stored in double.", 0),
        (&deep, "", 100),
    ] {
        let error = parse_tree(text.as_bytes()).unwrap_err();
        assert_eq!((error.what.as_str(), error.at), (what, at), "{text}");
    }
}

#[test]
fn paths_find_and_print() {
    let root = doc(r#"{"a":[1,{"b":2},[3,4]],"k y":{"b":5},"s":"x"}"#);
    for (path, want) in [
        ("$", r#"{"a": [1, {"b": 2}, [3, 4]], "s": "x", "k y": {"b": 5}}"#),
        ("$.a[0]", "1"),
        ("$.a[last]", "[3, 4]"),
        ("$.a[last-1].b", "2"),
        ("$.a[1 to last]", r#"{"b": 2}|[3, 4]"#),
        ("$**.b", "2|5"),
        ("$.\"k y\".b", "5"),
        ("$.s[0]", "\"x\""),
        ("$.s[1]", ""),
        ("$.a[*]", r#"1|{"b": 2}|[3, 4]"#),
        ("$.*.b", "5"),
        ("$.none", ""),
    ] {
        let parsed = Path::parse(path.as_bytes()).unwrap();
        let found = parsed.find(JsonRef::new(&root));
        let shown: Vec<_> = found.iter().map(|v| print(v.bytes())).collect();
        assert_eq!(shown.join("|"), want, "{path}");
        let mut text = Vec::new();
        parsed.append_text(&mut text);
        assert_eq!(Path::parse(&text).unwrap(), parsed, "{path}");
    }
    for bad in ["", "a", "$.", "$[", "$[a]", "$**", "$.a b", "$[3 to 1]", "$ x"] {
        assert!(Path::parse(bad.as_bytes()).is_err(), "{bad}");
    }
}

#[test]
fn values_are_put_and_removed() {
    use modify::{Put, merge_patch, merge_preserve, put, remove};
    let tree = |text: &str| parse_tree(text.as_bytes()).unwrap();
    let text = |v: &JsonValue| print(&v.to_bytes());
    let path = |p: &str| Path::parse(p.as_bytes()).unwrap();
    let mut v = tree(r#"{"a":1,"b":[2]}"#);
    put(&mut v, &path("$.a"), JsonValue::Int(9), Put::Insert);
    put(&mut v, &path("$.c"), JsonValue::Int(3), Put::Insert);
    put(&mut v, &path("$.b[5]"), JsonValue::Int(4), Put::Set);
    put(&mut v, &path("$.a[1]"), JsonValue::Int(5), Put::Set);
    put(&mut v, &path("$.none"), JsonValue::Int(5), Put::Replace);
    assert_eq!(text(&v), r#"{"a": [1, 5], "b": [2, 4], "c": 3}"#);
    remove(&mut v, &path("$.b[last]"));
    remove(&mut v, &path("$.a"));
    assert_eq!(text(&v), r#"{"b": [2], "c": 3}"#);
    let merged = merge_patch(tree(r#"{"a":1,"b":{"c":2}}"#), tree(r#"{"a":null,"b":{"d":3}}"#));
    assert_eq!(text(&merged), r#"{"b": {"c": 2, "d": 3}}"#);
    let merged = merge_preserve(tree(r#"{"a":1}"#), tree(r#"{"a":[2],"b":3}"#));
    assert_eq!(text(&merged), r#"{"a": [1, 2], "b": 3}"#);
}

#[test]
fn numbers_of_all_forms_have_one_key() {
    let key = |v: JsonValue| {
        let mut out = Vec::new();
        append_key(JsonRef::new(&v.to_bytes()), &mut out);
        out
    };
    let decimal = |text: &str| JsonValue::Decimal(crate::Decimal::from_text(text.as_bytes()).value);
    for same in [
        [JsonValue::Int(1), JsonValue::Double(1.0), decimal("1.00")],
        [JsonValue::Int(-120), JsonValue::Double(-120.0), decimal("-120.0")],
        [JsonValue::Int(0), JsonValue::Double(-0.0), decimal("0.000")],
        [JsonValue::UInt(15), JsonValue::Double(1.5e1), decimal("15")],
        [decimal("0.05"), JsonValue::Double(0.05), decimal("0.050")],
    ] {
        let keys = same.map(key);
        assert!(keys[0] == keys[1] && keys[1] == keys[2], "{keys:?}");
    }
    let rising = ["-1000", "-12", "-1.5", "-0.05", "0", "0.05", "0.5", "1.5", "12", "120", "1e30"];
    assert!(rising.windows(2).all(|w| key(doc_tree(w[0])) < key(doc_tree(w[1]))));
}

fn doc_tree(text: &str) -> JsonValue {
    parse_tree(text.as_bytes()).unwrap()
}

#[test]
fn sizes_are_those_of_mysqls_form() {
    for (text, want) in [
        ("1", 3),
        ("true", 2),
        ("70000", 5),
        ("40000", 5),
        ("4000000000", 9),
        ("\"abc\"", 5),
        ("[1,70000,1e3]", 26),
        ("[]", 5),
        ("{\"a\":1}", 13),
        ("[1,\"abc\",{\"d\":4.5}]", 38),
    ] {
        assert_eq!(storage_size(JsonRef::new(&doc(text))), want, "{text}");
    }
    let array = |n: usize| JsonValue::Array(vec![JsonValue::String(vec![b'a'; n])]);
    for (n, want) in [(65_520, 65_531), (65_525, 65_536), (65_527, 65_544), (70_000, 70_017)] {
        assert_eq!(storage_size(JsonRef::new(&array(n).to_bytes())), want, "{n}");
    }
}

#[test]
fn types_order_before_values() {
    let rising = ["null", "-1", "0.5", "1", "\"a\"", "{\"a\":1}", "[0]", "[1]", "false", "true"];
    for (n, a) in rising.iter().enumerate() {
        for (m, b) in rising.iter().enumerate() {
            let (x, y) = (doc(a), doc(b));
            assert_eq!(compare(JsonRef::new(&x), JsonRef::new(&y)), n.cmp(&m), "{a} {b}");
        }
    }
    let within = |a: &str, b: &str| contains(JsonRef::new(&doc(a)), JsonRef::new(&doc(b)));
    assert!(within("[1,[2,3]]", "[1]") && within("[1,{\"a\":2,\"b\":3}]", "{\"a\":2}"));
    assert!(within("[1,[2,3]]", "2") && within("[[[1]]]", "[1]") && within("[1]", "[1,1]"));
    assert!(!within("[1,2]", "[[1]]") && !within("{\"a\":1}", "1") && !within("[{\"a\":1}]", "1"));
}

fn any_value() -> impl Strategy<Value = JsonValue> {
    let leaf = prop_oneof![
        Just(JsonValue::Null),
        any::<bool>().prop_map(JsonValue::Bool),
        any::<i64>().prop_map(JsonValue::Int),
        (i64::MAX as u64 + 1..).prop_map(JsonValue::UInt),
        any::<f64>().prop_filter("finite", |v| v.is_finite()).prop_map(JsonValue::Double),
        ".{0,6}".prop_map(|s: String| JsonValue::String(s.into_bytes())),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(JsonValue::Array),
            prop::collection::vec((".{0,3}", inner), 0..5).prop_map(|members| {
                let members = members.into_iter().map(|(k, v)| (k.into_bytes(), v)).collect();
                JsonValue::Object(tree::Object::of(members))
            }),
        ]
    })
}

proptest! {
    #[test]
    fn binary_form_and_text_come_back(value in any_value()) {
        let bytes = value.to_bytes();
        prop_assert!(check(&bytes));
        prop_assert_eq!(&JsonValue::of(JsonRef::new(&bytes)), &value);
        let text = to_text(JsonRef::new(&bytes));
        let again = parse_tree(&text).unwrap().to_bytes();
        prop_assert_eq!(compare(JsonRef::new(&again), JsonRef::new(&bytes)), std::cmp::Ordering::Equal);
    }

    #[test]
    fn keys_order_as_values_do(a in any_value(), b in any_value()) {
        let (x, y) = (a.to_bytes(), b.to_bytes());
        let key = |v: &[u8]| {
            let mut out = Vec::new();
            append_key(JsonRef::new(v), &mut out);
            out
        };
        prop_assert_eq!(compare(JsonRef::new(&x), JsonRef::new(&y)), key(&x).cmp(&key(&y)));
    }

    #[test]
    fn damaged_bytes_never_panic(value in any_value(), at in any::<usize>(), byte in any::<u8>()) {
        let mut bytes = value.to_bytes();
        let at = at % bytes.len();
        bytes[at] = byte;
        let _ = (to_text(JsonRef::new(&bytes)), check(&bytes), JsonRef::new(&bytes).depth());
        bytes.truncate(at);
        let _ = (to_text(JsonRef::new(&bytes)), JsonValue::of(JsonRef::new(&bytes)));
    }
}
