#!/usr/bin/env python3
"""Generates the tables of src/collation and src/charset.

    python3 make_tables.py FOLDER-WITH-ALLKEYS [FOLDER-WITH-WEIGHTS]

The first folder holds allkeys-9.0.0.txt and allkeys-5.2.0.txt, the Default Unicode Collation Element Tables,
Copyright 2016 and 2009 Unicode, Inc., Unicode licence (http://www.unicode.org/terms_of_use.html),
as shipped in the PyPI package pyuca 1.2 (MIT): `pip download pyuca==1.2 --no-deps`, unzip, pyuca/.

uca900_1.bin, _2, _3: primary, secondary and tertiary weights of 9.0.0; uca520.bin: primary weights of
5.2.0. As in MySQL, contractions are left out and a character keeps at most its first 8 collation
elements (9.0.0), its first 8 primary weights (5.2.0).

uca400.bin: primary weights of 4.0.0, only made when the second folder is named. allkeys-4.0.0.txt is in
no package; its numbers are taken from what a server answers to WEIGHT_STRING: utf8mb4_unicode_ci.tsv
as weights.sh writes it. What the implicit formulas give needs no entry.

general_ci.bin: weights of utf8mb4_general_ci for the BMP, derived by rule from Python's unicodedata
(Unicode licence): simple upper case as of Unicode 3.0, then the base letter of the canonical
decomposition, only in the planes that MySQL folds, and four exceptions. README.md says how it was verified.

Format of all, little-endian u16 throughout:
    pages_index[N] (number of the 256-entry page, 0xFFFF = none), pages, then (uca only) expansions.
    uca entry: 0xFFFF no entry (implicit weight); bit 15 clear = the one weight (0 = ignorable);
    bit 15 set = offset in expansions of {count, weights...}.

case_upper.bin, case_lower.bin: simple case mappings from unicodedata, of characters that allkeys
knows, as runs of four little-endian u32: first character, last, what is added (mod 2^32), and the
step between the characters of the run | first version that has it << 8
(0 all, 1 Unicode 5.2, 2 Unicode 9.0, 3 only what general_ci uses).
"""
import os
import re
import struct
import sys
import unicodedata

OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "src")
NONE = 0xFFFF
CE_MAX = 8


def elements(path):
    """The collation elements of each single character: lists of (primary, secondary, tertiary)."""
    table = {}
    for line in open(path):
        line = line.split("#")[0].strip()
        if not line or line[0] == "@":
            continue
        left, right = line.split(";")
        points = [int(x, 16) for x in left.split()]
        if len(points) > 1:
            continue  # a contraction
        found = re.findall(r"\[[.*]([0-9A-F.]+)\]", right)
        table[points[0]] = [tuple(int(x, 16) for x in e.split(".")) for e in found]
    return table


def write(name, index_len, entry, extra=(), share=False):
    pages, index = [], []
    places = {}
    for page in range(index_len):
        values = [entry(page * 256 + i) for i in range(256)]
        if all(v == NONE for v in values):
            index.append(NONE)
        elif share and tuple(values) in places:
            index.append(places[tuple(values)])
        else:
            places[tuple(values)] = len(pages) // 256
            index.append(len(pages) // 256)
            pages += values
    words = index + pages + list(extra)
    with open(os.path.join(OUT, "collation", name), "wb") as f:
        f.write(struct.pack("<%dH" % len(words), *words))
    print(name, "words", len(words), "pages", len(pages) // 256, "extra", len(extra))


def uca(name, table, weights_of, share):
    expansions, places = [], {}

    def entry(c):
        if c not in table:
            return NONE
        weights = weights_of(table[c])
        if not weights:
            return 0
        if len(weights) == 1 and weights[0] < 0x8000:
            return weights[0]
        key = tuple(weights)
        if key not in places:
            places[key] = len(expansions)
            expansions.extend([len(weights), *weights])
            assert len(expansions) < 0x7FFF
        return 0x8000 | places[key]

    write(name, 0x1100, entry, expansions, share)


def level(n):
    return lambda elements: [e[n] for e in elements[:CE_MAX] if e[n]]


def implicit(c):
    """The weights of a character without entry, as src/collation/uca.rs makes them."""
    if c > 0xFFFF:
        return [0xFFFD]
    base = 0xFB80 if 0x3400 <= c <= 0x4DB5 else 0xFB40 if 0x4E00 <= c <= 0x9FA5 else 0xFBC0
    return [base + (c >> 15), c & 0x7FFF | 0x8000]


def observed(path):
    """The weights of each character whose WEIGHT_STRING in weights.sh's file is not the implicit one."""
    table = {}
    for line in open(path):
        text, weights = line.split("\t")[:2]
        c = ord(bytes.fromhex(text).decode())
        weights = list(struct.unpack(">%dH" % (len(weights) // 4), bytes.fromhex(weights)))
        if weights != implicit(c):
            table[c] = weights
    return table


# The planes that MySQL's default case table covers; elsewhere a character is its own weight.
FOLDED = {0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x1E, 0x1F, 0x21, 0x24, 0xFF}
# MySQL's table is of Unicode 3.0; Python's oldest data are of 3.2. What came between, in those planes:
AFTER_3_0 = {0x220, 0x34F, 0x3D8, 0x3D9, 0x3F4, 0x3F5, 0x3F6, 0x48A, 0x48B, 0x4C5, 0x4C6, 0x4C9, 0x4CA,
             0x4CD, 0x4CE, *range(0x363, 0x370), *range(0x500, 0x510)}
# Where MySQL's weights do not follow the rule.
EXCEPTIONS = {
    0xDF: 0x53,     # sharp s is S (documented in MySQL's manual)
    0x419: 0x419,   # Cyrillic short I is a letter of its own ...
    0x439: 0x419,
    0x3F2: 0x3A3,   # the lunate sigma's upper case in Unicode 3.0
}
OLD = unicodedata.ucd_3_2_0


def known(c):
    return c < 0x10000 and c not in AFTER_3_0 and OLD.category(chr(c)) != "Cn"


def simple_upper(c):
    up = chr(c).upper()
    return ord(up) if len(up) == 1 and known(c) and known(ord(up)) else c


def general_weight(c):
    if c >> 8 not in FOLDED:
        return NONE
    if c in EXCEPTIONS:
        return EXCEPTIONS[c]
    w = simple_upper(c)
    while known(w) and OLD.category(chr(w)) in ("Lu", "Ll", "Lt"):
        parts = OLD.decomposition(chr(w)).split()
        if len(parts) < 2 or parts[0].startswith("<"):
            break  # no canonical decomposition, or only another code for the same letter
        w = int(parts[0], 16)
    return simple_upper(w)


def simple_case(c):
    """(upper, lower) of Python's Unicode, by the simple mappings: one character for one."""
    s = chr(c)
    upper = next((x for x in (s.upper(), s.title()) if len(x) == 1), s)
    return ord(upper), ord(s.lower()[0])


def case_runs(which, old, new):
    maps = []
    for c in range(0x110000):
        if 0xD800 <= c < 0xE000:
            continue
        to = simple_case(c)[which]
        if to == c or c not in new or to not in new:
            continue
        general = all(known(x) and x >> 8 in FOLDED for x in (c, to))
        maps.append((c, to - c, 0 if general else 1 if c in old and to in old else 2))
    if which == 0:
        maps.append((0x3F2, 0x3A3 - 0x3F2, 3))  # the lunate sigma's upper case in Unicode 3.0
    maps.sort()
    runs = []
    for c, delta, since in maps:
        if runs and runs[-1][2:] == [delta, 1, since] and c == runs[-1][1] + 1:
            runs[-1][1] = c
        elif runs and runs[-1][2:] == [delta, 2, since] and c == runs[-1][1] + 2:
            runs[-1][1] = c
        elif runs and runs[-1][0] == runs[-1][1] and runs[-1][2:] == [delta, 1, since] and c == runs[-1][0] + 2:
            runs[-1][1], runs[-1][3] = c, 2
        else:
            runs.append([c, c, delta, 1, since])
    name = ("case_upper.bin", "case_lower.bin")[which]
    with open(os.path.join(OUT, "charset", name), "wb") as f:
        for first, last, delta, step, since in runs:
            f.write(struct.pack("<4I", first, last, delta & 0xFFFFFFFF, step | since << 8))
    print(name, "runs", len(runs))


def main(folder, weights=None):
    if weights:
        uca("uca400.bin", observed(os.path.join(weights, "utf8mb4_unicode_ci.tsv")), list, True)
    new, old = (elements(os.path.join(folder, "allkeys-%s.txt" % v)) for v in ("9.0.0", "5.2.0"))
    uca("uca900_1.bin", new, level(0), False)
    uca("uca900_2.bin", new, level(1), True)
    uca("uca900_3.bin", new, level(2), True)
    uca("uca520.bin", old, lambda elements: [e[0] for e in elements if e[0]][:CE_MAX], True)
    write("general_ci.bin", 0x100, general_weight)
    case_runs(0, old, new)
    case_runs(1, old, new)


main(*sys.argv[1:])
