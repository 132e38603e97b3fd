//! SQL types, values, collations, row layout and memcomparable keys.
