//! Panels and curves as SVG.

use std::fmt::Write as _;

use super::axis::Axis;
use super::curve::draw_curve;
use super::map::draw_map;
use super::pen::{FONT, Pen, at, escape, line, mark, stroke, text};
use crate::experiment::{PanelDefinition, Style};
use crate::findings::{Curve, Findings};

/// Across one panel. Printed at column width (84 mm) the letters are 7 points high.
const WIDTH: f64 = 340.0;
/// Of the plot itself.
const PLOT_HEIGHT: f64 = 170.0;
const MARGIN_LEFT: f64 = 52.0;
const MARGIN_RIGHT: f64 = 12.0;
const TOP: f64 = 6.0;
/// Tick labels and the axis label.
const BOTTOM: f64 = 40.0;
/// The mean width of a letter.
const LETTER: f64 = 5.3;
const LINE: f64 = 13.0;
/// The sample of a curve in the legend.
const KEY: f64 = 20.0;
const TICK: f64 = 4.0;
/// Above this many panels they stand two abreast.
const ONE_COLUMN: usize = 3;

/// How many panels of so many stand abreast.
pub(crate) fn columns(panels: usize) -> usize {
    if panels > ONE_COLUMN { 2 } else { 1 }
}

/// The figure of an experiment. `id` distinguishes its names from the names of other figures on one page.
pub fn draw(id: &str, title: &str, panels: &[PanelDefinition], findings: &Findings) -> String {
    let columns = columns(panels.len());
    let mut body = String::new();
    let mut bottom = 0.0;
    for (row, abreast) in panels.chunks(columns).enumerate() {
        let mut lowest = bottom;
        for (column, panel) in abreast.iter().enumerate() {
            let curves: Vec<&Curve> = findings.group(&panel.curves).collect();
            let sketch = Sketch {
                clip: format!("{id}-{}", row * columns + column),
                panel,
                curves: &curves,
                left: column as f64 * WIDTH,
                top: bottom,
            };
            lowest = sketch.draw(&mut body).max(lowest);
        }
        bottom = lowest;
    }
    let width = WIDTH * columns as f64;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" width=\"{}\" height=\"{}\" \
         font-family=\"Helvetica, Arial, sans-serif\" font-size=\"{FONT}\" role=\"img\">\n\
         <title>{}</title>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{body}</svg>\n",
        at(width),
        at(bottom),
        at(width),
        at(bottom),
        escape(title)
    )
}

struct Sketch<'a> {
    clip: String,
    panel: &'a PanelDefinition,
    curves: &'a [&'a Curve],
    left: f64,
    top: f64,
}

impl Sketch<'_> {
    /// Draws the panel, and tells where it ends.
    fn draw(&self, out: &mut String) -> f64 {
        let mut top = self.top + TOP;
        if !self.panel.title.is_empty() {
            let x = self.left + MARGIN_LEFT;
            text(
                out,
                x,
                top + FONT,
                "font-weight=\"bold\"",
                &self.panel.title,
            );
            top += LINE + 2.0;
        }
        if self.panel.style == Style::Map {
            return self.map(out, top);
        }
        top = self.legend(out, top);
        let (x, y) = self.axes([top + PLOT_HEIGHT, top]);
        self.frame(out, &x, &y);
        let _ = writeln!(
            out,
            "<clipPath id=\"{}\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/></clipPath>\n\
             <g clip-path=\"url(#{})\">",
            self.clip,
            at(self.left + MARGIN_LEFT),
            at(top),
            at(WIDTH - MARGIN_LEFT - MARGIN_RIGHT),
            at(PLOT_HEIGHT),
            self.clip
        );
        for (index, curve) in self.curves.iter().enumerate() {
            draw_curve(out, curve, Pen::of(index), self.panel.style, [&x, &y]);
        }
        out.push_str("</g>\n");
        top + PLOT_HEIGHT + BOTTOM
    }

    /// Draws the panel as a map from there on, and tells where it ends.
    fn map(&self, out: &mut String, top: f64) -> f64 {
        let across = [self.left + MARGIN_LEFT, self.left + WIDTH - MARGIN_RIGHT];
        let plot = [top + LINE + 3.0, top + LINE + 3.0 + PLOT_HEIGHT];
        draw_map(out, self.panel, self.curves, across, top, plot);
        self.name_axes(out, across, plot);
        plot[1] + BOTTOM
    }

    fn axes(&self, up: [f64; 2]) -> (Axis, Axis) {
        let points = || self.curves.iter().flat_map(|curve| &curve.points);
        let across = [self.left + MARGIN_LEFT, self.left + WIDTH - MARGIN_RIGHT];
        let panel = self.panel;
        let xs = points().map(|point| point.x);
        let x = Axis::new(panel.x_range, xs, panel.log.x(), false, across);
        let shown = points().filter(|point| {
            panel
                .x_range
                .is_none_or(|[a, b]| a <= point.x && point.x <= b)
        });
        // Means set the range: the interval of two seeds can be many times as wide.
        let ys = shown.map(|point| point.y.mean);
        let y = Axis::new(panel.y_range, ys, panel.log.y(), true, up);
        (x, y)
    }

    /// The names of the curves, above the plot so that they hide nothing. One curve needs none: the y
    /// axis names it.
    fn legend(&self, out: &mut String, top: f64) -> f64 {
        if self.curves.len() < 2 {
            return top;
        }
        let (mut x, mut y) = (self.left + MARGIN_LEFT, top);
        for (index, curve) in self.curves.iter().enumerate() {
            let width = KEY + 5.0 + curve.name.chars().count() as f64 * LETTER + 10.0;
            if x + width > self.left + WIDTH && x > self.left + MARGIN_LEFT {
                (x, y) = (self.left + MARGIN_LEFT, y + LINE);
            }
            let (pen, middle) = (Pen::of(index), y + FONT / 2.0);
            if self.panel.style != Style::Points {
                let ends = format!("M{} {}H{}", at(x), at(middle), at(x + KEY));
                stroke(out, &ends, pen);
            }
            if matches!(self.panel.style, Style::Marks | Style::Points) {
                mark(out, x + KEY / 2.0, middle, pen);
            }
            text(out, x + KEY + 4.0, y + FONT - 1.5, "", &curve.name);
            x += width;
        }
        y + LINE + 3.0
    }

    fn frame(&self, out: &mut String, x: &Axis, y: &Axis) {
        let ((left, right), (bottom, top)) = (x.ends(), y.ends());
        for tick in x.ticks() {
            let place = x.place(tick.value);
            let length = if tick.label.is_empty() {
                TICK / 2.0
            } else {
                TICK
            };
            line(out, place, bottom, place, bottom - length, "#000000");
            if !tick.label.is_empty() {
                line(out, place, bottom - length, place, top, "#e4e4e4");
                text(
                    out,
                    place,
                    bottom + 12.0,
                    "text-anchor=\"middle\"",
                    &tick.label,
                );
            }
        }
        for tick in y.ticks() {
            let place = y.place(tick.value);
            let length = if tick.label.is_empty() {
                TICK / 2.0
            } else {
                TICK
            };
            line(out, left, place, left + length, place, "#000000");
            if !tick.label.is_empty() {
                line(out, left + length, place, right, place, "#e4e4e4");
                text(
                    out,
                    left - 4.0,
                    place + 3.5,
                    "text-anchor=\"end\"",
                    &tick.label,
                );
            }
        }
        let _ = writeln!(
            out,
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#000000\" stroke-width=\"0.8\"/>",
            at(left),
            at(top),
            at(right - left),
            at(bottom - top)
        );
        self.name_axes(out, [left, right], [top, bottom]);
    }

    /// What stands beside the axes of a plot.
    fn name_axes(&self, out: &mut String, [left, right]: [f64; 2], [top, bottom]: [f64; 2]) {
        let middle = (left + right) / 2.0;
        text(
            out,
            middle,
            bottom + 28.0,
            "text-anchor=\"middle\"",
            &self.panel.x,
        );
        let (x, y) = (self.left + 12.0, (top + bottom) / 2.0);
        let turned = format!(
            "text-anchor=\"middle\" transform=\"rotate(-90 {} {})\"",
            at(x),
            at(y)
        );
        text(out, x, y, &turned, &self.panel.y);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::Sample;

    fn panel(more: &str) -> PanelDefinition {
        let text = format!("curves = \"c\"\nx = \"time (s)\"\ny = \"rate (b/s)\"\n{more}");
        toml::from_str(&text).unwrap()
    }

    fn findings(seeds: &[&[(f64, f64)]]) -> Findings {
        let samples = seeds.iter().map(|points| {
            let mut sample = Sample::default();
            sample.curve("c", "a < b", points.iter().copied());
            sample.curve("c", "second", [(1.0, 1.0)]);
            sample
        });
        Findings::join(&[samples.collect()])
    }

    #[test]
    fn the_same_numbers_give_the_same_bytes_and_names_are_escaped() {
        let findings = findings(&[&[(0.0, 1.0), (1.0, 2.0)]]);
        let figure = draw("e", "t", &[panel("")], &findings);
        assert_eq!(figure, draw("e", "t", &[panel("")], &findings));
        assert!(figure.contains("a &lt; b") && !figure.contains("a < b"));
        assert!(figure.contains("time (s)") && figure.contains("rate (b/s)"));
        assert!(!figure.contains("NaN"));
    }

    #[test]
    fn seeds_show_as_a_band_or_as_bars() {
        let findings = findings(&[&[(0.0, 1.0), (1.0, 2.0)], &[(0.0, 3.0), (1.0, 3.0)]]);
        let with_band = draw("e", "t", &[panel("")], &findings);
        assert!(with_band.contains("fill-opacity"));
        let with_bars = draw("e", "t", &[panel("style = \"marks\"")], &findings);
        assert!(!with_bars.contains("fill-opacity"));
        assert!(with_bars.contains("<circle"));
    }

    #[test]
    fn extremes_stay_within_bounds() {
        let findings = findings(&[&[(0.0, 1e300), (1.0, -1e300), (1e-300, 0.0)]]);
        for more in ["", "log = \"xy\"", "y_range = [0.0, 1.0]"] {
            let figure = draw("e", "t", &[panel(more)], &findings);
            assert!(!figure.contains("NaN") && !figure.contains("inf"), "{more}");
        }
    }
}
