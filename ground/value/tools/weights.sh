#!/bin/sh
# Writes what a real server knows of every character, for tests/oracle.rs:
#   weights.sh SOCKET FOLDER
# One file a collation, COLLATION.tsv: bytes of the character, WEIGHT_STRING, UPPER, LOWER (hexadecimal),
# and charsets.tsv: latin1 byte, its utf8mb4 form.
set -e
run() { mariadb --no-defaults --socket="$1" --user=root --default-character-set=utf8mb4 -N -B -e "$2"; }
columns() { echo "hex(s), hex(weight_string(s collate $1)), hex(upper(s collate $1)), hex(lower(s collate $1))"; }
points() {
    echo "set session cte_max_recursion_depth = 2000000; with recursive n(c) as
        (select 0 union all select c + 1 from n where c < $1),
        t(s) as (select convert(char(c using utf32) using $2) from n where c not between 55296 and 57343)
        select $(columns "$3") from t"
}
bytes() {
    echo "with recursive n(c) as (select 0 union all select c + 1 from n where c < $1),
        t(s) as (select convert(char(c) using $2) from n) select $(columns "$3") from t"
}
for c in utf8mb4_0900_ai_ci utf8mb4_0900_as_ci utf8mb4_0900_as_cs utf8mb4_0900_bin utf8mb4_bin utf8mb4_general_ci \
    utf8mb4_unicode_520_ci utf8mb4_unicode_ci; do
    run "$1" "$(points 1114111 utf8mb4 $c)" > "$2/$c.tsv"
done
for c in utf8mb3_bin utf8mb3_general_ci utf8mb3_unicode_520_ci utf8mb3_unicode_ci; do
    run "$1" "$(points 65535 utf8mb3 $c)" > "$2/$c.tsv"
done
for c in latin1_bin latin1_general_ci latin1_general_cs latin1_german1_ci latin1_swedish_ci; do
    run "$1" "$(bytes 255 latin1 $c)" > "$2/$c.tsv"
done
for c in ascii_bin ascii_general_ci; do
    run "$1" "$(bytes 127 ascii $c)" > "$2/$c.tsv"
done
run "$1" "with recursive n(c) as (select 0 union all select c + 1 from n where c < 255),
    t(s) as (select convert(char(c) using latin1) from n) select hex(s), hex(convert(s using utf8mb4)) from t" \
    > "$2/charsets.tsv"
