//! The bar on the terminal: what runs, and how much time is left. Nothing where the terminal is none.

use indicatif::{ProgressBar, ProgressStyle};

const TEMPLATE: &str = "{wide_msg} {bar:24} {pos}/{len} {elapsed} (left {eta})";

/// The bar of a run.
#[derive(Debug)]
pub struct Progress(ProgressBar);

impl Progress {
    /// A bar of so many steps.
    pub fn new(steps: u64) -> Progress {
        let bar = ProgressBar::new(steps);
        let style = ProgressStyle::with_template(TEMPLATE);
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Progress(bar)
    }

    /// More steps are to come.
    pub fn expect(&self, steps: u64) {
        self.0.inc_length(steps);
    }

    /// What happens now.
    pub fn say(&self, what: &str) {
        self.0.set_message(what.to_string());
        self.0.tick();
    }

    /// A step is done.
    pub fn step(&self) {
        self.0.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
