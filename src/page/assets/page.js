// The page: takes samples from the stream and shows them in pictures, badges, charts and tables.

import { Chart, SPAN_S, palette } from "/chart.js";
import { bytes, count, millis, percent, probability, rate, text, words } from "/format.js";
import { build } from "/knobs.js";
import { follow } from "/stream.js";

/** Text that changes faster than this cannot be read. */
const TEXT_MS = 250;

const $ = (id) => document.getElementById(id);
/** An axis whose top is at least the first number counts in the second, called the third. */
const RATE_UNITS = [[1e6, 1e6, "Mb/s"], [0, 1e3, "kb/s"]];
const MS_UNITS = [[0, 1, "ms"]];

const lastMinute = (value) => (value === undefined ? ["–", ""] : [count(value), "in 60 s"]);
/** What a counter has grown by, where it is one of this end. */
const growth = (now, before) => (now === null ? undefined : now - before);

const CHARTS = [
  {
    id: "rates", title: "Rates", scale: "linear", atLeast: 100e3, units: RATE_UNITS,
    series: [
      { name: "Link", colour: "grey", width: 2, dash: [9, 4], step: true, optional: true, value: (s) => s.link_bps, show: rate },
      { name: "Receive rate", colour: "orange", width: 1.5, dash: [5, 2], value: (s) => s.x_recv_bps, show: rate },
      { name: "TCP, each", colour: "purple", width: 2, dash: [8, 2, 2, 2], optional: true, value: (s) => s.tcp_bps, show: rate },
      { name: "Throughput", colour: "green", width: 2, dash: [2, 2], value: (s) => s.throughput_bps, show: rate },
      { name: "Allowed rate", colour: "blue", width: 2.5, value: (s) => s.x_bps, show: rate },
    ],
  },
  {
    id: "delay", title: "Frame delay, capture to display", scale: "linear", atLeast: 100, units: MS_UNITS,
    mark: (info) => ({ value: info.deadline_ms, name: `${Math.round(info.deadline_ms)} ms` }),
    series: [
      { name: "Each frame", colour: "blue", width: 1.5, value: (s) => s.frame_delay_ms, show: millis },
      { name: "95th percentile", colour: "orange", width: 2.5, value: (s) => s.frame_delay_p95_ms, show: millis },
      { name: "Deadline", colour: "grey", width: 2, dash: [9, 4], step: true, optional: true, value: (s) => s.deadline_ms, show: millis },
    ],
  },
  {
    id: "rtt", title: "Round trip and queue", scale: "linear", atLeast: 20, units: MS_UNITS,
    series: [
      { name: "Round-trip time", colour: "blue", width: 2.5, value: (s) => s.rtt_ms, show: millis },
      { name: "Queue", colour: "orange", width: 2, dash: [5, 2], optional: true, value: (s) => s.queue_ms, show: millis },
    ],
  },
  {
    id: "loss", title: "Loss event rate p", scale: "log", decades: [-5, 0],
    series: [
      // Zero has no place on this scale, but is worth saying in the legend.
      { name: "p", colour: "purple", width: 2.5, value: (s) => (s.p > 0 ? s.p : null), read: (s) => s.p, show: probability },
    ],
  },
  {
    id: "lost", title: "Frames discarded, late, concealed, frozen (a second)", scale: "lanes", atLeast: 2,
    series: [
      { name: "Discarded", colour: "grey", value: (s) => s.minute?.discarded, total: (s) => s.frames_discarded, show: lastMinute },
      { name: "Late", colour: "orange", value: (s) => s.minute?.late, total: (s) => s.frames_late, show: lastMinute },
      { name: "Concealed", colour: "purple", value: (s) => s.minute?.concealed, total: (s) => s.frames_concealed, show: lastMinute },
      { name: "Frozen", colour: "blue", value: (s) => s.minute?.frozen, total: (s) => s.frames_frozen, show: lastMinute },
    ],
  },
];

const BADGES = {
  waiting: ["warn", "Waiting for the peer"],
  "slow start": ["good", "Slow start"],
  "congestion avoidance": ["good", "Congestion avoidance"],
  nofeedback: ["warn", "No feedback"],
  "peer gone": ["bad", "Peer gone"],
  "given up": ["bad", "Given up"],
};
/** The shape says as much as the colour. */
const SHAPES = {
  good: "M5 0a5 5 0 1 0 0 10a5 5 0 1 0 0-10z",
  warn: "M5 0.5L10 9.5H0z",
  bad: "M0 0h10v10H0z",
  plain: "M5 0L10 5L5 10L0 5z",
};

let info = null;
let samples = [];
let connection = "connecting";
let colours = palette();
let updateKnobs = () => {};
let texted = -Infinity;
let scheduled = false;

const cursor = {
  ago: null,
  set(ago) {
    this.ago = ago;
    texted = -Infinity;
    this.changed();
  },
  changed() {
    if (scheduled) return;
    scheduled = true;
    requestAnimationFrame(redraw);
  },
};

const charts = CHARTS.map((spec) => new Chart(spec, cursor));
$("charts").prepend(...charts.map((chart) => chart.element));

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  colours = palette();
  cursor.changed();
});

follow({
  info(next) {
    if (JSON.stringify(next) === JSON.stringify(info)) return;
    info = next;
    describe();
  },
  history(all) {
    samples = [];
    all.forEach(add);
    charts.forEach((chart) => chart.reset());
    restartPictures();
    cursor.changed();
  },
  sample(sample) {
    add(sample);
    cursor.changed();
  },
  away(why) {
    if (why === "hidden") stopPictures();
    else connect(why);
  },
  back() {
    connect("live");
  },
});

function add(sample) {
  // A program that was started again counts from zero.
  if (samples.length > 0 && sample.t_s < samples.at(-1).t_s) samples = [];
  samples.push(sample);
  while (samples[0].t_s < sample.t_s - SPAN_S) samples.shift();
  const since = samples[0];
  sample.minute = {
    discarded: growth(sample.frames_discarded, since.frames_discarded),
    late: growth(sample.frames_late, since.frames_late),
    concealed: growth(sample.frames_concealed, since.frames_concealed),
    frozen: growth(sample.frames_frozen, since.frames_frozen),
  };
}

function redraw() {
  scheduled = false;
  if (!info) return;
  const newest = samples.at(-1);
  const now = newest?.t_s ?? 0;
  for (const chart of charts) chart.draw(samples, now, cursor.ago, info, colours);
  if (performance.now() - texted < TEXT_MS) return;
  texted = performance.now();
  readCharts(newest, now);
  if (newest) tell(newest);
}

function readCharts(newest, now) {
  const at = cursor.ago === null ? newest : nearest(now - cursor.ago);
  const aside = cursor.ago === null || !at ? "" : `${(now - at.t_s).toFixed(1)} s ago`;
  for (const chart of charts) chart.read(at, aside);
}

function nearest(t) {
  const later = samples.find((sample) => sample.t_s >= t);
  return later ?? samples.at(-1);
}

/** What is running. */
function describe() {
  const size = `${info.width}\u00d7${info.height}`;
  const facts = [info.mode, info.source, size, `${Number(info.fps.toFixed(2))} fps`, `seed ${info.seed}`];
  $("run").replaceChildren(...facts.map((fact) => item(fact)));
  document.title = `${info.source}, ${info.mode} – Evenkeel`;
  $("command").textContent = info.command;
  $("sent").hidden = info.mode === "recv";
  $("received").hidden = info.mode === "send";
  $("stage").classList.toggle("one", info.mode === "recv" || info.mode === "send");
  for (const screen of document.querySelectorAll(".screen")) screen.style.aspectRatio = `${info.width} / ${info.height}`;
  $("knobs").hidden = !info.knobs;
  updateKnobs = info.knobs ? build($("sliders"), $("knobs-error"), info.limits, info.choices) : () => {};
}

/** Everything that is said in words and numbers outside the charts. */
function tell(sample) {
  badges(sample);
  updateKnobs(sample.knobs);
  const filler = sample.filler_bps > 0 ? [`filler ${text(rate(sample.filler_bps))}`] : [];
  set($("sent-note"), [`aims at ${text(bytes(sample.target_bytes))} a frame`, ...filler].join(", "));
  const quality = sample.psnr_db === null ? [] : [`PSNR ${sample.psnr_db.toFixed(1)}\u00a0dB`];
  set($("received-note"), [...quality, `delay ${text(millis(sample.frame_delay_ms))}`].join(", "));
  accounts(sample);
}

/** `sample` is the newest, if there is one yet. */
function badges(sample) {
  const shown = [];
  if (connection === "live" && sample) {
    shown.push(BADGES[sample.state] ?? ["plain", sample.state]);
    if (info && sample.deadline_ms > info.deadline_ms + 0.5) {
      shown.push(["warn", `Deadline stretched to ${Math.round(sample.deadline_ms)}\u00a0ms`]);
    }
  }
  if (connection === "live" && sample && sample.tolerated_loss !== null) {
    const percent = (sample.tolerated_loss * 100).toFixed(1);
    shown.push(sample.tolerated_loss > 0 ? ["warn", `Tolerates ${percent}\u00a0% loss, unlike RFC\u00a05348`] : ["plain", "Random loss: none found"]);
  }
  shown.push({ live: ["plain", "Live"], silent: ["warn", "No news"] }[connection] ?? ["bad", "Reconnecting"]);
  const key = JSON.stringify(shown);
  if ($("badges").dataset.shown === key) return;
  $("badges").dataset.shown = key;
  $("badges").replaceChildren(...shown.map(([kind, name]) => {
    const badge = Object.assign(document.createElement("span"), { className: kind, textContent: name });
    badge.insertAdjacentHTML("afterbegin", `<svg viewBox="0 0 10 10" aria-hidden="true"><path d="${SHAPES[kind]}"/></svg>`);
    return badge;
  }));
}

function accounts(sample) {
  const offered = sample.frames_sent + sample.frames_discarded;
  const row = (name, frames, sub = false) => [name, frames === null ? null : count(frames), offered ? text(percent((100 * frames) / offered)) : "–", sub];
  const reasons = Object.entries(sample.discarded).sort(([a], [b]) => a.localeCompare(b));
  fill($("frames"), [
    row("Sent", sample.frames_sent),
    row("Shown", sample.frames_shown),
    row("Late for playout", sample.frames_late, true),
    row("Damaged on the way", sample.frames_damaged, true),
    row("Concealed in part", sample.frames_concealed, true),
    row("Came and not shown", sample.frames_frozen),
    row("Discarded before sending", sample.frames_discarded),
    ...reasons.map(([reason, frames]) => row(words(reason), frames, true)),
  ].filter(([, frames]) => frames !== null));
  const kinds = Object.entries(sample.ignored).filter(([, datagrams]) => datagrams > 0).sort(([, a], [, b]) => b - a);
  $("ignored-none").hidden = kinds.length > 0;
  $("ignored-table").hidden = kinds.length === 0;
  fill($("ignored"), kinds.map(([kind, datagrams]) => [words(kind), count(datagrams)]));
}

/** Rows of `[name, cell…, sub]` in a table body, touched only where they differ. */
function fill(body, rows) {
  const key = JSON.stringify(rows);
  if (body.dataset.shown === key) return;
  body.dataset.shown = key;
  body.replaceChildren(...rows.map(([name, ...cells]) => {
    const row = document.createElement("tr");
    if (cells.at(-1) === true) row.className = "sub";
    const head = Object.assign(document.createElement("th"), { scope: "row", textContent: name });
    const values = cells.filter((cell) => typeof cell === "string");
    row.append(head, ...values.map((cell) => Object.assign(document.createElement("td"), { textContent: cell })));
    return row;
  }));
}

function connect(next) {
  connection = next;
  const notices = {
    lost: "The program has ended or cannot be reached. This page comes back by itself when it runs again.",
    silent: "The program is there but has said nothing for three seconds.",
  };
  $("notice").hidden = !(next in notices);
  $("notice").textContent = notices[next] ?? "";
  document.body.classList.toggle("away", next !== "live");
  badges(samples.at(-1));
}

function restartPictures() {
  for (const id of ["sent", "received"]) {
    const image = $(id).querySelector("img");
    if ($(id).hidden) continue;
    // The number makes it another picture, so that the browser asks again.
    const ask = () => { image.src = `/${id}.mjpg?${Date.now()}`; };
    image.onload = () => { image.hidden = false; };
    image.onerror = () => { if (connection === "live") setTimeout(ask, 1000); };
    ask();
  }
}

function stopPictures() {
  for (const image of document.querySelectorAll(".screen img")) image.removeAttribute("src");
}

function item(content) {
  return Object.assign(document.createElement("li"), { textContent: content });
}

function set(element, content) {
  if (element.textContent !== content) element.textContent = content;
}
