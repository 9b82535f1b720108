//! Draws lines, marks and letters of a figure as SVG, in units of its axes.

use std::fmt::Write as _;

use super::axis::RAISED;
use super::{COLOURS, DASHES};

/// The height of letters.
pub(super) const FONT: f64 = 10.0;
const MARK: f64 = 2.6;

/// How a curve looks.
#[derive(Clone, Copy)]
pub(super) struct Pen {
    pub(super) colour: &'static str,
    dash: &'static str,
    mark: usize,
}

impl Pen {
    /// No two curves of a panel look alike, in grey neither.
    pub(super) fn of(index: usize) -> Self {
        Self {
            colour: COLOURS[index % COLOURS.len()],
            dash: DASHES[index % DASHES.len()],
            mark: index,
        }
    }
}

pub(super) fn stroke(out: &mut String, path: &str, pen: Pen) {
    let dash = if pen.dash.is_empty() {
        String::new()
    } else {
        format!(" stroke-dasharray=\"{}\"", pen.dash)
    };
    let _ = writeln!(
        out,
        "<path d=\"{path}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.2\"{dash}/>",
        pen.colour
    );
}

/// A mark of one of five shapes.
pub(super) fn mark(out: &mut String, x: f64, y: f64, pen: Pen) {
    let m = MARK;
    let shape = match pen.mark % 5 {
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
    let _ = writeln!(out, "{shape} fill=\"{}\"/>", pen.colour);
}

fn path_mark(corners: &[(f64, f64)]) -> String {
    let points: Vec<String> = corners
        .iter()
        .map(|(x, y)| format!("{},{}", at(*x), at(*y)))
        .collect();
    format!("<polygon points=\"{}\"", points.join(" "))
}

pub(super) fn line(out: &mut String, x1: f64, y1: f64, x2: f64, y2: f64, colour: &str) {
    let _ = writeln!(
        out,
        "<path d=\"M{} {}L{} {}\" stroke=\"{colour}\" stroke-width=\"0.8\"/>",
        at(x1),
        at(y1),
        at(x2),
        at(y2)
    );
}

pub(super) fn text(out: &mut String, x: f64, y: f64, attributes: &str, content: &str) {
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
pub(super) fn at(value: f64) -> String {
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
