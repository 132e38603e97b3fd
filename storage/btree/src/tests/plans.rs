//! Split planning on single pages.

use crate::plan::shortest_separator;

#[test]
fn separators_are_short_and_between() {
    let cases: [(&[u8], &[u8], &[u8]); 5] = [
        (b"apple", b"banana", b"b"),
        (b"abc", b"abd", b"abd"),
        (b"ab", b"abc", b"abc"),
        (b"", b"x", b"x"),
        (b"a\0", b"a\0\0", b"a\0\0"),
    ];
    for (left, right, want) in cases {
        let got = shortest_separator(left, right);
        assert_eq!(got, want);
        assert!(left < &got[..] && &got[..] <= right);
    }
}
