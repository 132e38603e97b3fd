//! Title, axes, grid and labels, drawn by plotters; and where inside of them the series go.

use crate::axis::Axis;
use crate::model::Chart;
use crate::text;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, ValueFormatter};
use plotters::prelude::*;
use std::ops::Range;

/// Pixels of a label's font.
pub const FONT_PX: f64 = 12.0;
const TITLE_PX: u32 = 17;
const GREY: RGBColor = RGBColor(96, 96, 96);
const GRID: RGBColor = RGBColor(228, 228, 228);

/// Edges of the plot in pixels.
#[derive(Clone, Copy)]
pub struct Plot {
    /// Left edge.
    pub left: f64,
    /// Right edge.
    pub right: f64,
    /// Upper edge.
    pub top: f64,
    /// Lower edge.
    pub bottom: f64,
}

/// The frame of a chart as an SVG that is whole, and its plot. `legend_px` stay free at the bottom.
pub fn frame(chart: &Chart, x: &Axis, y: &Axis, legend_px: u32) -> (String, Plot) {
    let mut svg = String::new();
    let plot = draw(&mut svg, chart, x, y, legend_px)
        .expect("plotters writes into memory, and both ranges are finite and have a width");
    (svg, plot)
}

fn draw(
    svg: &mut String,
    chart: &Chart,
    x: &Axis,
    y: &Axis,
    legend_px: u32,
) -> Result<Plot, Box<dyn std::error::Error>> {
    let root = SVGBackend::with_string(svg, chart.size_px()).into_drawing_area();
    root.fill(&WHITE).map_err(said)?;
    let title_px = title(&root, chart).map_err(said)?;
    let area = root.margin(title_px + 8, legend_px + 4, 4, 16);
    let x_label_px = if chart.x_label.is_empty() { 22 } else { 40 };
    let y_label_px = if chart.y_label.is_empty() { 56 } else { 74 };
    let mut context = ChartBuilder::on(&area)
        .x_label_area_size(x_label_px)
        .y_label_area_size(y_label_px)
        .build_cartesian_2d(x.clone(), y.clone())
        .map_err(said)?;
    let font = ("sans-serif", FONT_PX).into_font().color(&GREY);
    context
        .configure_mesh()
        .bold_line_style(GRID)
        .axis_style(GREY)
        .set_all_tick_mark_size(4)
        .label_style(font)
        .x_desc(text::clean(&text::cut(&chart.x_label, 80)))
        .y_desc(text::clean(&text::cut(&chart.y_label, 60)))
        .draw()
        .map_err(said)?;
    let (across, down) = context.plotting_area().get_pixel_range();
    root.present().map_err(said)?;
    Ok(Plot {
        left: f64::from(across.start),
        right: f64::from(across.end),
        top: f64::from(down.start),
        bottom: f64::from(down.end),
    })
}

/// Writes title and subtitle; pixels that they take.
fn title<'a>(
    root: &DrawingArea<SVGBackend<'a>, plotters::coord::Shift>,
    chart: &Chart,
) -> Result<u32, DrawingAreaErrorKind<std::io::Error>> {
    let mut used = 0;
    for (line, size, colour) in [(&chart.title, TITLE_PX, BLACK), (&chart.subtitle, 12, GREY)] {
        if line.is_empty() {
            continue;
        }
        let chars_max = f64::from(chart.size_px().0) / (f64::from(size) * 0.55);
        let line = text::clean(&text::cut(line, chars_max as usize));
        let style = ("sans-serif", size).into_font().color(&colour);
        root.draw(&Text::new(line, (12, used as i32 + 6), style))?;
        used += size + 6;
    }
    Ok(used)
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, position: &f64, (from, to): (i32, i32)) -> i32 {
        from + (self.share(*position) * f64::from(to - from)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        // Lines between the ticks: none.
        if hint.weight().allow_light_points() {
            return Vec::new();
        }
        self.ticks.iter().map(|(at, _)| *at).collect()
    }

    fn range(&self) -> Range<f64> {
        self.from..self.to
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, position: &f64) -> String {
        text::clean(&text::cut(&self.label(*position), 16))
    }
}

fn said<E: std::error::Error + Send + Sync>(error: DrawingAreaErrorKind<E>) -> String {
    error.to_string()
}
