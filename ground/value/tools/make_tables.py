#!/usr/bin/env python3
"""Generates src/collation/uca900.bin and src/collation/general_ci.bin.

    python3 make_tables.py PATH/allkeys-9.0.0.txt

uca900.bin: primary weights of the Default Unicode Collation Element Table 9.0.0. Origin:
allkeys-9.0.0.txt, Copyright 2016 Unicode, Inc., Unicode licence (http://www.unicode.org/terms_of_use.html),
as shipped in the PyPI package pyuca 1.2 (MIT): `pip download pyuca==1.2 --no-deps`, unzip, pyuca/.
As in MySQL, contractions are left out and a character keeps at most its first 8 collation elements.

general_ci.bin: weights of utf8mb4_general_ci for the BMP, derived by rule from Python's unicodedata
(Unicode licence): simple upper case as of Unicode 3.0, then the base letter of the canonical
decomposition, only in the planes that MySQL folds, and four exceptions. README.md says how it was verified.

Format of both, little-endian u16 throughout:
    pages_index[N] (number of the 256-entry page, 0xFFFF = none), pages, then (uca only) expansions.
    uca entry: 0xFFFF no entry (implicit weight); bit 15 clear = the one weight (0 = ignorable);
    bit 15 set = offset in expansions of {count, weights...}.
"""
import os
import re
import struct
import sys
import unicodedata

OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "src", "collation")
NONE = 0xFFFF
CE_MAX = 8


def primaries(path):
    table = {}
    for line in open(path):
        line = line.split("#")[0].strip()
        if not line or line[0] == "@":
            continue
        left, right = line.split(";")
        points = [int(x, 16) for x in left.split()]
        if len(points) > 1:
            continue  # a contraction
        elements = re.findall(r"\[[.*]([0-9A-F]{4})\.", right)[:CE_MAX]
        table[points[0]] = [w for w in (int(e, 16) for e in elements) if w]
    return table


def write(name, index_len, entry, extra=()):
    pages, index = [], []
    for page in range(index_len):
        values = [entry(page * 256 + i) for i in range(256)]
        if all(v == NONE for v in values):
            index.append(NONE)
        else:
            index.append(len(pages) // 256)
            pages += values
    words = index + pages + list(extra)
    with open(os.path.join(OUT, name), "wb") as f:
        f.write(struct.pack("<%dH" % len(words), *words))
    print(name, "words", len(words), "pages", len(pages) // 256, "extra", len(extra))


def uca(path):
    table, expansions, places = primaries(path), [], {}

    def entry(c):
        if c not in table:
            return NONE
        weights = table[c]
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

    write("uca900.bin", 0x1100, entry, expansions)


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


uca(sys.argv[1])
write("general_ci.bin", 0x100, general_weight)
