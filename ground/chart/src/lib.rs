//! Charts as SVG text, for the lab's reports and the dashboard.
//!
//! Read `model` (what a chart is), `axis` (ranges, ticks and their labels), `frame` (title, axes and grid, drawn by
//! plotters), `draw` (series, marks, legend), `colour`, `text`.
//!
//! 1. Names are text: whatever bytes a title or a name has, the SVG is well-formed and shows them.
//! 2. No number breaks a chart: what is not finite is left out, a range without width gets one.
//! 3. Every series is a `<g data-series="NAME">` whose `data-points="x,y x,y"` are the points as given; tests and the
//!    browser's cross-hair read them.
//! 4. No font and no file of the machine is read.

mod axis;
mod colour;
mod draw;
mod frame;
mod model;
mod text;

pub use axis::si;
pub use model::{Chart, Kind, Mark, Series, XTicks, panels};
pub use text::{clean, escape};

#[cfg(test)]
mod tests;
