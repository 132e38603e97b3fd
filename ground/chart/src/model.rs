//! What a chart is: texts, ticks, series and marks; and the functions that make SVG of it.

use crate::{axis, colour, draw};

/// One line, one layer of a stack, or one bar of each group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Any text; it decides the colour.
    pub name: String,
    /// `(x, y)`. A point that is not finite is left out, and a line has a gap there.
    pub points: Vec<(f64, f64)>,
}

/// An upright line with a word: a step of load, a restart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mark {
    /// Where, on the x axis; outside of it the mark is not drawn.
    pub x: f64,
    /// Any text.
    pub label: String,
}

/// How the x axis reads its numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum XTicks {
    /// Plain numbers, with SI prefixes.
    #[default]
    Numbers,
    /// Seconds since 1970, shown as `HH:MM:SS` of a zone that many seconds east of UTC.
    TimeOfDay {
        /// Seconds to add to UTC.
        utc_offset_s: i32,
    },
    /// Levels that double, such as users 1, 2, 4 to 1,024; a point at or below 0 is left out.
    Log2,
    /// `x` is an index into these names.
    Names(Vec<String>),
}

/// The three forms of a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Series on top of each other, the first one lowest; one without a point at an x counts 0 there.
    StackedArea,
    /// Each series a line.
    Lines,
    /// For each x a group, in it a bar of each series.
    Bars,
}

/// A chart. Texts that are empty take no room.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// Above everything, large.
    pub title: String,
    /// Below the title, small.
    pub subtitle: String,
    /// Below the x axis.
    pub x_label: String,
    /// Beside the y axis.
    pub y_label: String,
    /// Behind each number of the y axis: `s` makes `20 ms` of 0.02.
    pub y_unit: String,
    /// How the x axis reads.
    pub x_ticks: XTicks,
    /// First and last x; without it those of the points. Bars have none.
    pub x_range: Option<(f64, f64)>,
    /// What is drawn.
    pub series: Vec<Series>,
    /// Upright lines.
    pub marks: Vec<Mark>,
    /// Width and height in pixels, legend included; less than 200 by 120 is drawn as that, above 10,000 as that.
    pub size: (u32, u32),
}

impl Default for Chart {
    fn default() -> Self {
        Chart {
            title: String::new(),
            subtitle: String::new(),
            x_label: String::new(),
            y_label: String::new(),
            y_unit: String::new(),
            x_ticks: XTicks::default(),
            x_range: None,
            series: Vec::new(),
            marks: Vec::new(),
            size: (800, 360),
        }
    }
}

impl Chart {
    /// The series on top of each other.
    pub fn stacked_area(&self) -> String {
        self.draw(Kind::StackedArea)
    }

    /// Each series a line.
    pub fn lines(&self) -> String {
        self.draw(Kind::Lines)
    }

    /// Grouped bars.
    pub fn bars(&self) -> String {
        self.draw(Kind::Bars)
    }

    /// The chart in one of its forms.
    pub fn draw(&self, kind: Kind) -> String {
        let colours = colour::Colours::of(std::slice::from_ref(self));
        draw::chart(self, kind, axis::y_max(self, kind), &colours)
    }

    /// Width and height as drawn.
    pub(crate) fn size_px(&self) -> (u32, u32) {
        (self.size.0.clamp(200, 10_000), self.size.1.clamp(120, 10_000))
    }
}

/// Charts beside each other, such as two settings left and right: one scale of y, one colour for each name.
pub fn panels(kind: Kind, charts: &[Chart]) -> String {
    let y_max = charts.iter().map(|chart| axis::y_max(chart, kind)).fold(0.0, f64::max);
    let colours = colour::Colours::of(charts);
    let width: u32 = charts.iter().map(|chart| chart.size_px().0).sum();
    let height = charts.iter().map(|chart| chart.size_px().1).max().unwrap_or(0);
    let mut svg = format!(
        "<svg width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" xmlns=\"http://www.w3.org/2000/svg\">\n"
    );
    let mut left = 0;
    for chart in charts {
        let panel = draw::chart(chart, kind, y_max, &colours);
        svg.push_str(&panel.replacen("<svg ", &format!("<svg x=\"{left}\" "), 1));
        left += chart.size_px().0;
    }
    svg.push_str("</svg>\n");
    svg
}
