//! A colour for each name: chosen by the name, so that charts of the same things have the same colours.

use crate::model::Chart;
use std::collections::{BTreeMap, BTreeSet};

/// Colours that are told apart beside each other, on white.
const PALETTE: [&str; 20] = [
    "#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#b07aa1", "#76b7b2", "#edc948", "#9c755f",
    "#ff9da7", "#2f4b7c", "#a05195", "#d45087", "#665191", "#003f5c", "#ffa600", "#7a9a01",
    "#00a9a5", "#8c564b", "#aec7e8", "#c49c94",
];

/// The colours of the names of some charts.
pub struct Colours(BTreeMap<String, &'static str>);

impl Colours {
    /// Each name has the colour of its hash, or the next one if another name of these charts has that; above twenty
    /// names colours come twice.
    pub fn of(charts: &[Chart]) -> Self {
        let names: BTreeSet<&str> =
            charts.iter().flat_map(|c| &c.series).map(|s| s.name.as_str()).collect();
        let mut taken = [false; PALETTE.len()];
        let mut colours = BTreeMap::new();
        for name in names {
            let first = (hash(name) % PALETTE.len() as u64) as usize;
            let free = (first..first + PALETTE.len()).map(|at| at % PALETTE.len());
            let at = free.into_iter().find(|at| !taken[*at]).unwrap_or(first);
            taken[at] = true;
            colours.insert(name.to_string(), PALETTE[at]);
        }
        Colours(colours)
    }

    /// `#rrggbb`.
    pub fn get(&self, name: &str) -> &'static str {
        self.0.get(name).copied().unwrap_or(PALETTE[0])
    }
}

/// FNV-1a, the same in every build.
fn hash(name: &str) -> u64 {
    name.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
}
