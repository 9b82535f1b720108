//! Panels and curves as SVG.

use std::fmt::Write as _;

use super::axis::{Axis, RAISED};
use super::{COLOURS, DASHES};
use crate::experiment::{PanelDefinition, Style};
use crate::findings::{Curve, Findings, Point};

/// Across one panel. Printed at column width (84 mm) the letters are 7 points high.
const WIDTH: f64 = 340.0;
/// Of the plot itself.
const PLOT_HEIGHT: f64 = 170.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 6.0;
/// Tick labels and the axis label.
const BOTTOM: f64 = 40.0;
const FONT: f64 = 10.0;
/// The mean width of a letter.
const LETTER: f64 = 5.3;
const LINE: f64 = 13.0;
/// The sample of a curve in the legend.
const KEY: f64 = 20.0;
const TICK: f64 = 4.0;
const MARK: f64 = 2.6;
/// Above this many panels they stand two abreast.
const ONE_COLUMN: usize = 3;
/// Coordinates are written to a twentieth of this, finer than any printer: nearer points are one.
const RESOLUTION: f64 = 0.05;

/// How many panels of so many stand abreast.
pub(crate) fn columns(panels: usize) -> usize {
    if panels > ONE_COLUMN { 2 } else { 1 }
}

/// The figure of an experiment. `id` keeps its names apart from those of others on one page.
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

/// How a curve looks.
#[derive(Clone, Copy)]
struct Look {
    colour: &'static str,
    dash: &'static str,
    mark: usize,
}

impl Look {
    fn of(index: usize) -> Self {
        Self {
            colour: COLOURS[index % COLOURS.len()],
            dash: DASHES[index % DASHES.len()],
            mark: index,
        }
    }
}

impl Sketch<'_> {
    /// Draws the panel, and tells where it ends.
    fn draw(&self, out: &mut String) -> f64 {
        let mut top = self.top + TOP;
        if !self.panel.title.is_empty() {
            let x = self.left + LEFT;
            text(
                out,
                x,
                top + FONT,
                "font-weight=\"bold\"",
                &self.panel.title,
            );
            top += LINE + 2.0;
        }
        top = self.legend(out, top);
        let (x, y) = self.axes([top + PLOT_HEIGHT, top]);
        self.frame(out, &x, &y);
        let _ = writeln!(
            out,
            "<clipPath id=\"{}\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/></clipPath>\n\
             <g clip-path=\"url(#{})\">",
            self.clip,
            at(self.left + LEFT),
            at(top),
            at(WIDTH - LEFT - RIGHT),
            at(PLOT_HEIGHT),
            self.clip
        );
        for (index, curve) in self.curves.iter().enumerate() {
            self.curve(out, curve, Look::of(index), &x, &y);
        }
        out.push_str("</g>\n");
        top + PLOT_HEIGHT + BOTTOM
    }

    fn axes(&self, up: [f64; 2]) -> (Axis, Axis) {
        let points = || self.curves.iter().flat_map(|curve| &curve.points);
        let across = [self.left + LEFT, self.left + WIDTH - RIGHT];
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
        let (mut x, mut y) = (self.left + LEFT, top);
        for (index, curve) in self.curves.iter().enumerate() {
            let width = KEY + 5.0 + curve.name.chars().count() as f64 * LETTER + 10.0;
            if x + width > self.left + WIDTH && x > self.left + LEFT {
                (x, y) = (self.left + LEFT, y + LINE);
            }
            let (look, middle) = (Look::of(index), y + FONT / 2.0);
            if self.panel.style != Style::Points {
                let ends = format!("M{} {}H{}", at(x), at(middle), at(x + KEY));
                stroke(out, &ends, look);
            }
            if matches!(self.panel.style, Style::Marks | Style::Points) {
                mark(out, x + KEY / 2.0, middle, look);
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

    fn curve(&self, out: &mut String, curve: &Curve, look: Look, x: &Axis, y: &Axis) {
        let place = |point: &Point, value: f64| (x.place(point.x), y.place(value));
        let joined = matches!(self.panel.style, Style::Line | Style::Steps);
        if joined {
            band(out, curve, look, &place);
        }
        if self.panel.style != Style::Points {
            let path = path(curve, self.panel.style == Style::Steps, &place);
            stroke(out, &path, look);
        }
        if joined {
            return;
        }
        for point in &curve.points {
            let (px, py) = place(point, point.y.mean);
            if !(px.is_finite() && py.is_finite()) {
                continue;
            }
            if let Some((low, high)) = point.y.interval() {
                let (low, high) = (place(point, low).1, place(point, high).1);
                if low.is_finite() && high.is_finite() {
                    line(out, px, low, px, high, look.colour);
                }
            }
            mark(out, px, py, look);
        }
    }
}

/// The line through the points; it breaks where there is nothing to draw.
fn path(curve: &Curve, steps: bool, place: &dyn Fn(&Point, f64) -> (f64, f64)) -> String {
    let mut path = String::new();
    let mut last: Option<(f64, f64)> = None;
    for point in &curve.points {
        let (x, y) = place(point, point.y.mean);
        if !(x.is_finite() && y.is_finite()) {
            last = None;
            continue;
        }
        match last {
            Some((lx, ly)) if (x - lx).abs() < RESOLUTION && (y - ly).abs() < RESOLUTION => {
                continue;
            }
            Some(_) if steps => {
                let _ = write!(path, "H{}V{}", at(x), at(y));
            }
            Some(_) => {
                let _ = write!(path, "L{} {}", at(x), at(y));
            }
            None => {
                let _ = write!(path, "M{} {}", at(x), at(y));
            }
        }
        last = Some((x, y));
    }
    path
}

/// The confidence interval as a band, where points have one.
fn band(out: &mut String, curve: &Curve, look: Look, place: &dyn Fn(&Point, f64) -> (f64, f64)) {
    let edges = curve.points.iter().filter_map(|point| {
        let (low, high) = point.y.interval()?;
        let ((x, low), (_, high)) = (place(point, low), place(point, high));
        (x.is_finite() && low.is_finite() && high.is_finite()).then_some((x, low, high))
    });
    let edges: Vec<(f64, f64, f64)> = edges.collect();
    if edges.len() < 2 {
        return;
    }
    let mut corners = String::new();
    let upper = edges.iter().map(|(x, _, high)| (x, high));
    let lower = edges.iter().rev().map(|(x, low, _)| (x, low));
    for (x, y) in upper.chain(lower) {
        let _ = write!(corners, "{},{} ", at(*x), at(*y));
    }
    let _ = writeln!(
        out,
        "<polygon points=\"{}\" fill=\"{}\" fill-opacity=\"0.18\"/>",
        corners.trim_end(),
        look.colour
    );
}

fn stroke(out: &mut String, path: &str, look: Look) {
    let dash = if look.dash.is_empty() {
        String::new()
    } else {
        format!(" stroke-dasharray=\"{}\"", look.dash)
    };
    let _ = writeln!(
        out,
        "<path d=\"{path}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.2\"{dash}/>",
        look.colour
    );
}

/// A mark of one of five shapes.
fn mark(out: &mut String, x: f64, y: f64, look: Look) {
    let m = MARK;
    let shape = match look.mark % 5 {
        0 => format!("<circle cx=\"{}\" cy=\"{}\" r=\"{m}\"", at(x), at(y)),
        1 => path_mark(&[
            (x - m, y - m),
            (x + m, y - m),
            (x + m, y + m),
            (x - m, y + m),
        ]),
        2 => path_mark(&[(x, y - m * 1.3), (x + m * 1.2, y + m), (x - m * 1.2, y + m)]),
        3 => path_mark(&[
            (x, y - m * 1.4),
            (x + m * 1.4, y),
            (x, y + m * 1.4),
            (x - m * 1.4, y),
        ]),
        _ => path_mark(&[(x - m * 1.2, y - m), (x + m * 1.2, y - m), (x, y + m * 1.3)]),
    };
    let _ = writeln!(out, "{shape} fill=\"{}\"/>", look.colour);
}

fn path_mark(corners: &[(f64, f64)]) -> String {
    let points: Vec<String> = corners
        .iter()
        .map(|(x, y)| format!("{},{}", at(*x), at(*y)))
        .collect();
    format!("<polygon points=\"{}\"", points.join(" "))
}

fn line(out: &mut String, x1: f64, y1: f64, x2: f64, y2: f64, colour: &str) {
    let _ = writeln!(
        out,
        "<path d=\"M{} {}L{} {}\" stroke=\"{colour}\" stroke-width=\"0.8\"/>",
        at(x1),
        at(y1),
        at(x2),
        at(y2)
    );
}

fn text(out: &mut String, x: f64, y: f64, attributes: &str, content: &str) {
    let space = if attributes.is_empty() { "" } else { " " };
    let content = match content.split_once(RAISED) {
        Some((base, power)) if !power.contains(' ') => format!(
            "{}<tspan dy=\"-3.5\" font-size=\"7\">{}</tspan>",
            escape(base),
            escape(power)
        ),
        _ => escape(content),
    };
    let _ = writeln!(
        out,
        "<text x=\"{}\" y=\"{}\"{space}{attributes}>{content}</text>",
        at(x),
        at(y)
    );
}

/// A coordinate in hundredths, without superfluous digits.
fn at(value: f64) -> String {
    let hundredths = (value.clamp(-1e5, 1e5) * 100.0).round() as i64;
    (hundredths as f64 / 100.0).to_string()
}

/// Text as XML.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
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
    fn a_line_breaks_where_a_value_is_missing() {
        let findings = findings(&[&[
            (0.0, 1.0),
            (1.0, 2.0),
            (2.0, f64::NAN),
            (3.0, 1.0),
            (4.0, 1.0),
        ]]);
        let place = |point: &Point, value: f64| (point.x, value);
        assert_eq!(path(&findings.curves[0], false, &place), "M0 1L1 2M3 1L4 1");
        assert_eq!(path(&findings.curves[0], true, &place), "M0 1H1V2M3 1H4V1");
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
