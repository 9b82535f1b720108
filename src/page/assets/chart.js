// Strip charts of the last minute on canvases: a few hundred points a series, drawn when a sample
// came, the cursor moved or the size changed.

/** Seconds that a chart shows. */
export const SPAN_S = 60;
/** A gap this long between samples is a gap in the line. */
const GAP_S = 2;
/** An event of a second is in a percentile of the last second for two, and ten samples come a second. */
const OUTLIER_SAMPLES = 20;
/** A peak beyond this many times all else leaves the chart, with its value at the edge. */
const OUTLIER_FACTOR = 2;
const LEFT = 46;
const RIGHT = 8;
const TOP = 8;
const BOTTOM = 22;
const TEXT = '12px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif';
const COLOURS = ["ink", "soft", "grid", "card", "blue", "orange", "green", "purple", "grey"];

/** The page's present colours, for the canvases. */
export function palette() {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(COLOURS.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

/**
 * One chart. `spec` has a title and series (name, colour, dash, width, value(sample), show(value)), and
 * either scale "linear" (with unit and divisor, and `atLeast`, the least top of its axis) or "log"
 * (with `decades`) or "lanes" (bars a second, one lane a series).
 */
export class Chart {
  constructor(spec, cursor) {
    this.spec = spec;
    this.canvas = document.createElement("canvas");
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", `${spec.title}, chart of the last ${SPAN_S} seconds. Arrow keys read earlier values.`);
    this.legend = document.createElement("dl");
    this.legend.className = "legend";
    this.legend.id = `legend-${spec.id}`;
    this.canvas.setAttribute("aria-describedby", this.legend.id);
    this.entries = spec.series.map((series) => legendEntry(series, spec.scale));
    this.legend.append(...this.entries.map((entry) => entry.row));
    const title = Object.assign(document.createElement("h2"), { textContent: spec.title });
    this.aside = document.createElement("span");
    const head = document.createElement("div");
    head.className = "chart-head";
    head.append(title, this.aside);
    this.element = document.createElement("section");
    this.element.className = `card chart ${spec.scale}`;
    this.element.id = `chart-${spec.id}`;
    this.element.append(head, this.legend, this.canvas);
    this.element.hidden = true;
    this.listen(cursor);
  }

  listen(cursor) {
    const move = (event) => {
      const plot = this.canvas.clientWidth - LEFT - RIGHT;
      const ago = SPAN_S * (1 - (event.offsetX - LEFT) / plot);
      cursor.set(Math.min(SPAN_S, Math.max(0, ago)));
    };
    this.canvas.addEventListener("pointermove", move);
    this.canvas.addEventListener("pointerdown", move);
    this.canvas.addEventListener("pointerleave", () => cursor.set(null));
    this.canvas.addEventListener("pointercancel", () => cursor.set(null));
    this.canvas.addEventListener("blur", () => cursor.set(null));
    this.canvas.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: 1, ArrowRight: -1, PageUp: 10, PageDown: -10 }[event.key];
      if (step) cursor.set(Math.min(SPAN_S, Math.max(0, (cursor.ago ?? 0) + step)));
      else if (event.key === "Escape") cursor.set(null);
      else return;
      event.preventDefault();
    });
    new ResizeObserver(() => cursor.changed()).observe(this.canvas);
  }

  /** Shows the values at `sample` in the legend, and in the head when they are from. */
  read(sample, aside) {
    this.aside.textContent = aside;
    this.spec.series.forEach((series, index) => {
      const entry = this.entries[index];
      const value = sample ? (series.read ?? series.value)(sample) : undefined;
      // A series that this end does not have (a link that it does not emulate) is not in the legend.
      if (value !== undefined && value !== null) entry.row.hidden = false;
      const [digits, unit] = series.show(value);
      entry.digits.textContent = digits;
      entry.unit.textContent = unit ? `\u00a0${unit}` : "";
    });
    this.element.hidden = !this.shown().some((series) => !series.reference);
  }

  /** The series of which there are values at this end. */
  shown() {
    return this.spec.series.filter((_, index) => !this.entries[index].row.hidden);
  }

  /** Forgets which series there were. */
  reset() {
    for (const { row } of this.entries) row.hidden = true;
  }

  draw(samples, now, ago, colours) {
    const ratio = window.devicePixelRatio || 1;
    const width = this.canvas.clientWidth;
    const height = this.canvas.clientHeight;
    if (width === 0) return;
    const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (this.canvas.width !== wide || this.canvas.height !== high) {
      this.canvas.width = wide;
      this.canvas.height = high;
    }
    const pen = this.canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.font = TEXT;
    const area = { left: LEFT, top: TOP, right: width - RIGHT, bottom: height - BOTTOM, now };
    area.x = (t) => area.right - ((now - t) / SPAN_S) * (area.right - area.left);
    timeAxis(pen, area, colours);
    const scale = { linear, log, lanes }[this.spec.scale];
    scale(pen, area, { ...this.spec, series: this.shown() }, samples, colours);
    if (ago !== null) drawCursor(pen, area, ago, colours);
  }
}

function legendEntry(series, scale) {
  const row = document.createElement("div");
  const name = document.createElement("dt");
  const value = document.createElement("dd");
  const digits = document.createElement("b");
  const unit = document.createElement("span");
  value.append(digits, unit);
  name.innerHTML = scale === "lanes"
    ? '<svg class="swatch" viewBox="0 0 22 8" aria-hidden="true"><rect x="7" width="8" height="8" fill="currentColor"/></svg>'
    : '<svg class="swatch" viewBox="0 0 22 8" aria-hidden="true"><line x1="1" y1="4" x2="21" y2="4" stroke="currentColor"/></svg>';
  const swatch = name.firstElementChild;
  swatch.classList.add(series.colour);
  if (scale !== "lanes") {
    swatch.firstElementChild.setAttribute("stroke-width", series.width);
    swatch.firstElementChild.setAttribute("stroke-dasharray", (series.dash ?? []).join(" "));
  }
  name.append(series.name);
  row.append(name, value);
  row.hidden = true;
  return { row, digits, unit };
}

function timeAxis(pen, area, colours) {
  pen.fillStyle = colours.soft;
  pen.textBaseline = "alphabetic";
  const step = area.right - area.left < 300 ? 20 : 15;
  for (let ago = 0; ago <= SPAN_S; ago += step) {
    const x = area.x(area.now - ago);
    pen.textAlign = ago === 0 ? "right" : ago === SPAN_S ? "left" : "center";
    pen.fillText(ago === 0 ? "now" : `−${ago} s`, x, area.bottom + 16);
  }
}

function gridLine(pen, area, y, label, colours, strong = false) {
  pen.strokeStyle = strong ? colours.grey : colours.grid;
  pen.lineWidth = 1;
  pen.beginPath();
  pen.moveTo(area.left, Math.round(y) + 0.5);
  pen.lineTo(area.right, Math.round(y) + 0.5);
  pen.stroke();
  pen.fillStyle = colours.soft;
  pen.textAlign = "right";
  pen.textBaseline = "middle";
  pen.fillText(label, area.left - 7, y);
}

/** The round number at or above `value` whose thirds or quarters are round too, and its parts. */
function roundTop(value) {
  const decade = 10 ** Math.floor(Math.log10(value));
  for (const [mantissa, parts] of [[1, 4], [1.5, 3], [2, 4], [3, 3], [4, 4], [6, 3], [8, 4], [10, 4]]) {
    if (mantissa * decade >= value * 0.999) return [mantissa * decade, parts];
  }
  return [10 * decade, 4];
}

/** The highest value, and the highest that an axis must show: a peak of a second does not flatten the rest. */
export function peaks(spec, samples) {
  const highest = { peak: spec.atLeast, usual: spec.atLeast };
  for (const series of spec.series) {
    const values = samples.map(series.value).filter((value) => value > 0).sort((a, b) => b - a);
    if (values.length === 0) continue;
    const beyond = Math.min(OUTLIER_SAMPLES, Math.floor(values.length / 4));
    highest.peak = Math.max(highest.peak, values[0]);
    highest.usual = Math.max(highest.usual, values[beyond]);
  }
  return highest.peak > OUTLIER_FACTOR * highest.usual ? highest : { ...highest, usual: highest.peak };
}

function linear(pen, area, spec, samples, colours) {
  const { peak, usual } = peaks(spec, samples);
  const [top, parts] = roundTop(usual * 1.04);
  const y = (value) => area.bottom - (value / top) * (area.bottom - area.top);
  // All labels of an axis have the same unit, and no more places than they need.
  const [, unit, unitName] = spec.units.find(([least]) => top >= least);
  for (let part = 0; part <= parts; part += 1) {
    const value = (top * part) / parts;
    const label = String(Number((value / unit).toPrecision(3)));
    gridLine(pen, area, y(value), label, colours, part === 0);
  }
  label(pen, unitName, area.left + 6, area.top + 7, colours.soft, colours.card);
  lines(pen, area, spec.series, samples, y, colours);
  if (peak > top) {
    const shown = `↑ ${Number((peak / unit).toPrecision(3))}`;
    pen.textAlign = "left";
    label(pen, shown, area.right - pen.measureText(shown).width - 4, area.top + 7, colours.soft, colours.card);
  }
}

function log(pen, area, spec, samples, colours) {
  const [low, high] = spec.decades;
  const y = (value) => {
    const decade = Math.max(low, Math.log10(value));
    return area.bottom - ((decade - low) / (high - low)) * (area.bottom - area.top);
  };
  for (let decade = low; decade <= high; decade += 1) {
    const shown = decade >= -3 ? String(Number((10 ** decade).toPrecision(1))) : `10${superscript(decade)}`;
    gridLine(pen, area, y(10 ** decade), shown, colours, decade === low);
  }
  lines(pen, area, spec.series, samples, y, colours);
}

const superscript = (n) => String(n).replace("-", "⁻").replace(/\d/g, (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]);

/** Bars a second, a lane for each series, so that nothing depends on its colour. */
function lanes(pen, area, spec, samples, colours) {
  const height = (area.bottom - area.top) / spec.series.length;
  const bars = spec.series.map((series) => bySecond(samples, series.total));
  const highest = Math.max(spec.atLeast, ...bars.flatMap((lane) => lane.map(([, value]) => value)));
  // Above the tallest bar there is room for the lane's name.
  const tallest = height - 20;
  const wide = Math.max(2, (area.right - area.left) / SPAN_S - 1.5);
  spec.series.forEach((series, lane) => {
    const base = area.top + height * (lane + 1);
    gridLine(pen, area, base, "", colours, true);
    pen.fillStyle = colours.soft;
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    pen.fillText(String(highest), area.left - 7, base - tallest);
    pen.fillText("0", area.left - 7, base - 5);
    pen.fillStyle = colours[series.colour];
    for (const [second, value] of bars[lane]) {
      const x = Math.max(area.left, area.x(second));
      const tall = Math.max(2, (value / highest) * tallest);
      if (value > 0) pen.fillRect(x, base - tall, Math.min(wide, area.right - x), tall);
    }
    label(pen, series.name, area.left + 6, base - tallest - 9, colours.soft, colours.card);
  });
}

/** By how much a running total grew in each second: `[second, growth]`. */
function bySecond(samples, total) {
  const bars = [];
  let [second, before, last] = [null, 0, 0];
  for (const sample of samples) {
    const now = Math.floor(sample.t_s);
    if (second === null) [second, before] = [now, total(sample)];
    if (now !== second) {
      bars.push([second, last - before]);
      [second, before] = [now, last];
    }
    last = total(sample);
  }
  if (second !== null) bars.push([second, last - before]);
  return bars;
}

function lines(pen, area, all, samples, y, colours) {
  pen.save();
  pen.beginPath();
  pen.rect(area.left, area.top - 2, area.right - area.left + 1, area.bottom - area.top + 3);
  pen.clip();
  pen.lineJoin = "round";
  for (const series of all) {
    pen.strokeStyle = colours[series.colour];
    pen.lineWidth = series.width;
    pen.setLineDash(series.dash ?? []);
    pen.beginPath();
    let last = null;
    for (const sample of samples) {
      const value = series.value(sample);
      if (value === null || value === undefined) {
        last = null;
        continue;
      }
      const [x, height] = [area.x(sample.t_s), y(value)];
      if (last === null || sample.t_s - last.t > GAP_S) pen.moveTo(x, height);
      else {
        if (series.step) pen.lineTo(x, last.y);
        pen.lineTo(x, height);
      }
      last = { t: sample.t_s, y: height };
    }
    pen.stroke();
  }
  pen.restore();
}

/** Text on a patch of the ground, legible over lines. */
function label(pen, shown, x, y, ink, ground) {
  pen.textAlign = "left";
  pen.textBaseline = "middle";
  pen.globalAlpha = 0.85;
  pen.fillStyle = ground;
  pen.fillRect(x - 3, y - 8, pen.measureText(shown).width + 6, 16);
  pen.globalAlpha = 1;
  pen.fillStyle = ink;
  pen.fillText(shown, x, y);
}

function drawCursor(pen, area, ago, colours) {
  const x = Math.round(area.x(area.now - ago)) + 0.5;
  pen.strokeStyle = colours.ink;
  pen.lineWidth = 1;
  pen.setLineDash([]);
  pen.beginPath();
  pen.moveTo(x, area.top);
  pen.lineTo(x, area.bottom);
  pen.stroke();
}

