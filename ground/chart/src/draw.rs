//! Series, marks and legend, written into the frame of a chart.
//!
//! Plotters draws no attributes, so what carries names and points is written here.

use crate::axis::{self, Axis};
use crate::colour::Colours;
use crate::frame::{self, FONT_PX, Plot};
use crate::model::{Chart, Kind, Series, XTicks};
use crate::text::{cut, escape, width_px};
use std::fmt::Write as _;

const LEGEND_LINE_PX: u32 = 18;
const LEGEND_CHARS_MAX: usize = 48;
/// A legend takes at most these lines; series behind them are drawn without an entry.
const LEGEND_LINES_MAX: usize = 6;

/// The whole chart, `y_max` its largest number or that of a chart beside it.
pub fn chart(chart: &Chart, kind: Kind, y_max: f64, colours: &Colours) -> String {
    let drawing = Drawing::new(chart, kind, y_max, colours);
    let legend = legend_lines(chart);
    let legend_px = legend.len() as u32 * LEGEND_LINE_PX;
    let (frame, plot) = frame::frame(chart, &drawing.x, &drawing.y, legend_px);
    let mut inside = drawing.plot_area(plot);
    match kind {
        Kind::StackedArea => drawing.stack(&mut inside, plot),
        Kind::Lines => drawing.lines(&mut inside, plot),
        Kind::Bars => drawing.bars(&mut inside, plot),
    }
    drawing.marks(&mut inside, plot);
    drawing.legend(&mut inside, &legend);
    let end = frame.rfind("</svg>").unwrap_or(frame.len());
    format!("{}{inside}</svg>\n", &frame[..end])
}

struct Drawing<'a> {
    chart: &'a Chart,
    colours: &'a Colours,
    /// Every x of the chart, in order.
    xs: Vec<f64>,
    x: Axis,
    y: Axis,
    /// Positions of x are indexes of `xs`.
    grouped: bool,
}

impl<'a> Drawing<'a> {
    fn new(chart: &'a Chart, kind: Kind, y_max: f64, colours: &'a Colours) -> Self {
        let xs = axis::distinct_x(chart);
        let grouped = kind == Kind::Bars;
        let x = if grouped { axis::groups(chart, &xs) } else { axis::x_axis(chart) };
        Drawing { chart, colours, xs, x, y: axis::y_axis(chart, kind, y_max), grouped }
    }

    /// What a cross-hair needs: edges in pixels and in positions, and how a position is made of a number.
    fn plot_area(&self, plot: Plot) -> String {
        let scale = match self.chart.x_ticks {
            _ if self.grouped => "groups",
            XTicks::Log2 => "log2",
            XTicks::TimeOfDay { .. } => "time",
            XTicks::Numbers | XTicks::Names(_) => "linear",
        };
        format!(
            "<rect class=\"plot\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" data-x-scale=\"{scale}\" \
             data-x-min=\"{}\" data-x-max=\"{}\" data-y-min=\"{}\" data-y-max=\"{}\"/>\n",
            plot.left,
            plot.top,
            plot.right - plot.left,
            plot.bottom - plot.top,
            self.x.from,
            self.x.to,
            self.y.from,
            self.y.to
        )
    }

    fn across(&self, plot: Plot, position: f64) -> f64 {
        plot.left + self.x.share(position) * (plot.right - plot.left)
    }

    fn down(&self, plot: Plot, y: f64) -> f64 {
        plot.bottom - self.y.share(y) * (plot.bottom - plot.top)
    }

    /// Opens the element of a series: its name, colour and points.
    fn open(&self, out: &mut String, series: &Series) {
        let mut points = String::new();
        for (x, y) in axis::points(self.chart, &series.points) {
            let space = if points.is_empty() { "" } else { " " };
            let _ = write!(points, "{space}{x},{y}");
        }
        let name = escape(&series.name);
        let colour = self.colours.get(&series.name);
        let _ = writeln!(
            out,
            "<g data-series=\"{name}\" data-colour=\"{colour}\" data-points=\"{points}\"><title>{name}</title>"
        );
    }

    fn stack(&self, out: &mut String, plot: Plot) {
        let places: Vec<(usize, f64)> = self.visible().collect();
        let mut below = vec![0.0; self.xs.len()];
        for series in &self.chart.series {
            let own = axis::at_each(self.chart, &series.points, &self.xs);
            let above: Vec<f64> = below.iter().zip(&own).map(|(b, o)| b + o).collect();
            let mut path = Path::default();
            for (at, position) in &places {
                path.to(self.across(plot, *position), self.down(plot, above[*at]));
            }
            for (at, position) in places.iter().rev() {
                path.to(self.across(plot, *position), self.down(plot, below[*at]));
            }
            self.open(out, series);
            let colour = self.colours.get(&series.name);
            let stroke = if places.len() == 1 { colour } else { "none" };
            let _ = writeln!(
                out,
                "<path d=\"{}\" fill=\"{colour}\" fill-opacity=\"0.85\" stroke=\"{stroke}\" stroke-width=\"3\"/></g>",
                path.closed()
            );
            below = above;
        }
    }

    /// Indexes of `xs` inside the axis, with their positions.
    fn visible(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        let placed = self.xs.iter().enumerate();
        let placed = placed.filter_map(|(at, x)| Some((at, axis::position(self.chart, *x)?)));
        placed.filter(|(_, position)| *position >= self.x.from && *position <= self.x.to)
    }

    fn lines(&self, out: &mut String, plot: Plot) {
        for series in &self.chart.series {
            self.open(out, series);
            let colour = self.colours.get(&series.name);
            let (mut path, mut ends) = (Path::default(), Vec::new());
            for (x, y) in &series.points {
                let position = axis::position(self.chart, *x).filter(|_| axis::drawable(*y));
                let Some(position) = position.filter(|p| *p >= self.x.from && *p <= self.x.to)
                else {
                    path.lift();
                    continue;
                };
                let place = (self.across(plot, position), self.down(plot, *y));
                path.to(place.0, place.1);
                ends.push(place);
            }
            let _ = writeln!(
                out,
                "<path d=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" stroke-linejoin=\"round\"/>",
                path.open()
            );
            // Few points are shown as such: one of them alone makes no line.
            for (x, y) in ends.iter().filter(|_| ends.len() <= 40) {
                let _ = writeln!(
                    out,
                    "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.5\" fill=\"{colour}\"/>"
                );
            }
            out.push_str("</g>\n");
        }
    }

    fn bars(&self, out: &mut String, plot: Plot) {
        let count = self.chart.series.len().max(1) as f64;
        let bar = 0.8 / count;
        for (index, series) in self.chart.series.iter().enumerate() {
            self.open(out, series);
            let colour = self.colours.get(&series.name);
            for (x, y) in axis::points(self.chart, &series.points) {
                let Ok(group) = self.xs.binary_search_by(|other| other.total_cmp(&x)) else {
                    continue;
                };
                let left = group as f64 - 0.4 + bar * index as f64;
                let (from, to) = (self.across(plot, left), self.across(plot, left + bar));
                let (top, bottom) = (self.down(plot, y.max(0.0)), self.down(plot, y.min(0.0)));
                let _ = writeln!(
                    out,
                    "<rect x=\"{from:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{colour}\"/>",
                    to - from,
                    bottom - top
                );
            }
            out.push_str("</g>\n");
        }
    }

    fn marks(&self, out: &mut String, plot: Plot) {
        for mark in &self.chart.marks {
            let position = if self.grouped {
                self.xs.iter().position(|x| *x == mark.x).map(|at| at as f64)
            } else {
                axis::position(self.chart, mark.x)
            };
            let Some(position) = position.filter(|p| *p >= self.x.from && *p <= self.x.to) else {
                continue;
            };
            let x = self.across(plot, position);
            let label = escape(&cut(&mark.label, 32));
            let _ = writeln!(
                out,
                "<g class=\"mark\" data-x=\"{}\"><line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{}\" y2=\"{}\" stroke=\"#606060\" \
                 stroke-dasharray=\"4 3\"/><text x=\"{:.1}\" y=\"{:.1}\" font-family=\"sans-serif\" font-size=\"11\" \
                 fill=\"#404040\">{label}</text></g>",
                mark.x,
                plot.top,
                plot.bottom,
                x + 3.0,
                plot.top + 11.0
            );
        }
    }

    fn legend(&self, out: &mut String, lines: &[Vec<(f64, usize)>]) {
        let top = self.chart.size_px().1 - lines.len() as u32 * LEGEND_LINE_PX;
        for (line, entries) in lines.iter().enumerate() {
            let y = f64::from(top) + line as f64 * f64::from(LEGEND_LINE_PX);
            for (x, at) in entries {
                let name = &self.chart.series[*at].name;
                let _ = writeln!(
                    out,
                    "<g data-legend=\"{0}\"><title>{0}</title><rect x=\"{x:.1}\" y=\"{1:.1}\" width=\"11\" height=\"11\" \
                     fill=\"{2}\"/><text x=\"{3:.1}\" y=\"{4:.1}\" font-family=\"sans-serif\" font-size=\"{FONT_PX}\" \
                     fill=\"#303030\">{5}</text></g>",
                    escape(name),
                    y + 1.0,
                    self.colours.get(name),
                    x + 15.0,
                    y + 11.0,
                    escape(&cut(name, LEGEND_CHARS_MAX))
                );
            }
        }
    }
}

/// For each line of the legend its entries: where they begin and which series they are.
fn legend_lines(chart: &Chart) -> Vec<Vec<(f64, usize)>> {
    let (mut lines, mut x) = (vec![Vec::new()], 12.0);
    for (at, series) in chart.series.iter().enumerate() {
        let width = width_px(&cut(&series.name, LEGEND_CHARS_MAX), FONT_PX) + 30.0;
        if x + width > f64::from(chart.size_px().0) && x > 12.0 {
            lines.push(Vec::new());
            x = 12.0;
        }
        if let Some(line) = lines.last_mut() {
            line.push((x, at));
        }
        x += width;
    }
    // The plot keeps at least half of the height.
    let lines_max = (chart.size_px().1 / 2 / LEGEND_LINE_PX) as usize;
    lines.truncate(lines_max.min(LEGEND_LINES_MAX));
    lines.retain(|line| !line.is_empty());
    lines
}

/// A path in SVG's letters.
#[derive(Default)]
struct Path {
    letters: String,
    down: bool,
}

impl Path {
    fn to(&mut self, x: f64, y: f64) {
        let letter = if self.down { 'L' } else { 'M' };
        let _ = write!(self.letters, "{letter}{x:.1} {y:.1}");
        self.down = true;
    }

    /// The next point begins a new part.
    fn lift(&mut self) {
        self.down = false;
    }

    fn open(self) -> String {
        self.letters
    }

    fn closed(mut self) -> String {
        if !self.letters.is_empty() {
            self.letters.push('Z');
        }
        self.letters
    }
}
