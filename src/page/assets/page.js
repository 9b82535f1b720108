// The page: takes samples from the stream and shows them in pictures, badges, charts and tables.

import { Chart, SPAN_S, palette } from "/chart.js";
import { bytes, count, millis, percent, probability, rate, text, words } from "/format.js";
import { build } from "/knobs.js";
import { fairShare, isCapped, status } from "/status.js";
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
      { name: "Link", colour: "grey", width: 2, dash: [9, 4], step: true, reference: true, value: (s) => s.link_bps, show: rate },
      { name: "Fair share", colour: "grey", width: 1.5, dash: [1, 3], step: true, value: fairShare, show: rate },
      { name: "TCP, each", colour: "purple", width: 2, dash: [8, 2, 2, 2], value: (s) => s.tcp_bps, show: rate },
      { name: "Throughput", colour: "green", width: 2, dash: [2, 2], value: (s) => s.throughput_bps, show: rate },
      { name: "Allowed rate", colour: "blue", width: 2.5, value: (s) => s.x_bps, show: rate },
    ],
  },
  {
    id: "delay", title: "Frame delay, capture to display", scale: "linear", atLeast: 100, units: MS_UNITS,
    series: [
      { name: "Each frame", colour: "blue", width: 1.5, value: (s) => s.frame_delay_ms, show: millis },
      { name: "95th percentile", colour: "orange", width: 2.5, value: (s) => s.frame_delay_p95_ms, show: millis },
      { name: "Deadline", colour: "grey", width: 2, dash: [9, 4], step: true, reference: true, value: (s) => s.deadline_ms, show: millis },
    ],
  },
  {
    id: "lost", title: "Frames discarded, incomplete, concealed, frozen (a second)", scale: "lanes", atLeast: 2,
    series: [
      { name: "Discarded", colour: "grey", value: (s) => s.minute?.discarded, total: (s) => s.frames_discarded, show: lastMinute },
      { name: "Incomplete when due", colour: "orange", value: (s) => s.minute?.late, total: (s) => s.frames_late, show: lastMinute },
      { name: "Concealed", colour: "purple", value: (s) => s.minute?.concealed, total: (s) => s.frames_concealed, show: lastMinute },
      { name: "Frozen", colour: "blue", value: (s) => s.minute?.frozen, total: (s) => s.frames_frozen, show: lastMinute },
    ],
  },
];
/** What only someone who knows TFRC can read, a click away. */
const DETAILS = [
  {
    id: "rtt", title: "Round trip R: the path and its queue", scale: "linear", atLeast: 20, units: MS_UNITS,
    series: [
      { name: "Round-trip time", colour: "blue", width: 2.5, value: (s) => s.rtt_ms, show: millis },
      { name: "Empty path", colour: "grey", width: 2, dash: [9, 4], step: true, reference: true, value: (s) => s.knobs.delay_ms, show: millis },
      { name: "Longest wait in the queue", colour: "orange", width: 2, dash: [5, 2], value: (s) => s.queue_ms, show: millis },
    ],
  },
  {
    id: "x", title: "Rates of TFRC", scale: "linear", atLeast: 100e3, units: RATE_UNITS,
    series: [
      { name: "Receive rate", colour: "orange", width: 1.5, dash: [5, 2], value: (s) => s.x_recv_bps, show: rate },
      { name: "Allowed rate X", colour: "blue", width: 2.5, value: (s) => s.x_bps, show: rate },
    ],
  },
  {
    id: "loss", title: "Loss event rate p", scale: "log", decades: [-5, 0],
    series: [
      // Zero has no place on this scale, but is worth saying in the legend.
      { name: "p", colour: "purple", width: 2.5, value: (s) => (s.p > 0 ? s.p : null), read: (s) => s.p, show: probability },
    ],
  },
];

const PHASES = {
  "slow start": "Slow start: no loss event yet, and the rate doubles each round trip.",
  "congestion avoidance": "Congestion avoidance: the throughput equation bounds the rate.",
};
const CAPPED = "The path would carry more: --max-rate bounds the rate.";
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

const chartsOf = (specs) => specs.map((spec) => new Chart(spec, cursor));
const [main, detailed] = [chartsOf(CHARTS), chartsOf(DETAILS)];
const charts = [...main, ...detailed];
$("charts").prepend(...main.map((chart) => chart.element));
$("detailed").append(...detailed.map((chart) => chart.element));

const copy = $("invitation").querySelector("button");
// Only a page of this machine, or one that came encrypted, may copy.
copy.hidden = !navigator.clipboard;
copy.addEventListener("click", async () => {
  await navigator.clipboard.writeText($("invitation").querySelector("code").textContent);
  set(copy, "Copied");
});

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
  for (const chart of charts) chart.draw(samples, now, cursor.ago, colours);
  if (performance.now() - texted < TEXT_MS) return;
  texted = performance.now();
  readCharts(newest, now);
  if (newest) tell(newest);
}

function readCharts(newest, now) {
  const at = cursor.ago === null ? newest : nearest(now - cursor.ago);
  const aside = cursor.ago === null || !at ? "" : `${(now - at.t_s).toFixed(1)} s ago`;
  for (const chart of charts) chart.read(at, aside);
  $("details").hidden = detailed.every((chart) => chart.element.hidden);
}

function nearest(t) {
  const later = samples.find((sample) => sample.t_s >= t);
  return later ?? samples.at(-1);
}

/** What is running. */
function describe() {
  tellRun();
  document.title = `${info.source}, ${info.mode} – Evenkeel`;
  $("sent").hidden = info.mode === "recv";
  $("received").hidden = info.mode === "send";
  $("stage").className = { recv: "one", send: "one", call: "call" }[info.mode] ?? "";
  if (info.width) for (const screen of document.querySelectorAll(".screen")) screen.style.setProperty("--aspect", info.width / info.height);
  $("knobs").hidden = !info.knobs;
  updateKnobs = info.knobs ? build($("sliders"), $("knobs-error"), info.limits, info.choices) : () => {};
}

/** The header. A receiver has the size from the first picture, and no seed. */
function tellRun() {
  const image = $("received").querySelector("img");
  const [width, height] = info.width ? [info.width, info.height] : [image.naturalWidth, image.naturalHeight];
  const facts = [info.mode, info.source, width && `${width}\u00d7${height}`, info.fps && `${Number(info.fps.toFixed(2))} fps`,
    info.seed && `seed ${info.seed}`];
  const shown = facts.filter(Boolean);
  if (shown.join() === $("run").dataset.shown) return;
  $("run").dataset.shown = shown.join();
  $("run").replaceChildren(...shown.map((fact) => item(fact)));
}

/** Everything that is said in words and numbers outside the charts. */
function tell(sample) {
  badges(sample);
  $("invitation").hidden = sample.invitation === null;
  $("invitation").querySelector("code").textContent = sample.invitation ?? "";
  warn(sample.warnings);
  // A sender may code pictures smaller at first, while its rate is low.
  if (!info.width) tellRun();
  updateKnobs(sample.knobs);
  const filler = sample.filler_bps > 0 ? [`filler ${text(rate(sample.filler_bps))}`] : [];
  set($("sent-note"), [`aims at ${text(bytes(sample.target_bytes))} a frame`, ...filler].join(", "));
  const quality = sample.psnr_db === null ? [] : [`PSNR ${sample.psnr_db.toFixed(1)}\u00a0dB`];
  const delay = Number.isFinite(sample.frame_delay_ms) ? [`delay ${text(millis(sample.frame_delay_ms))}`] : [];
  set($("received-note"), [...framesPerSecond(), ...quality, ...delay].join(", "));
  set($("command"), sample.command);
  set($("phase"), isCapped(sample, info) ? CAPPED : PHASES[sample.state] ?? "");
  accounts(sample);
}

/** `sample` is the newest, if there is one yet. */
function badges(sample) {
  const shown = [];
  if (connection === "live" && sample && info) {
    shown.push(status(samples, info));
    if (sample.deadline_ms > info.deadline_ms + 0.5) {
      shown.push(["warn", `Deadline stretched to ${Math.round(sample.deadline_ms)}\u00a0ms`]);
    }
  }
  if (connection === "live" && sample?.words) shown.push(["good", `Encrypted: ${sample.words}`]);
  if (connection === "live" && sample && sample.tolerated_loss !== null) {
    const percent = (sample.tolerated_loss * 100).toFixed(1);
    shown.push(sample.tolerated_loss > 0 ? ["warn", `Tolerates ${percent}\u00a0% loss, unlike RFC\u00a05348`] : ["plain", "Random loss: none found"]);
  }
  shown.push({ live: ["plain", "Live"], silent: ["warn", "No data"] }[connection] ?? ["bad", "Reconnecting"]);
  const key = JSON.stringify(shown);
  if ($("badges").dataset.shown === key) return;
  $("badges").dataset.shown = key;
  $("badges").replaceChildren(...shown.map(([kind, name]) => {
    const badge = Object.assign(document.createElement("span"), { className: kind, textContent: name });
    badge.insertAdjacentHTML("afterbegin", `<svg viewBox="0 0 10 10" aria-hidden="true"><path d="${SHAPES[kind]}"/></svg>`);
    return badge;
  }));
}

/** What the terminal has warned of, the newest first. */
function warn(lines) {
  const list = $("warnings").querySelector("ul");
  if (list.dataset.shown === lines.join("\n")) return;
  list.dataset.shown = lines.join("\n");
  $("warnings").hidden = lines.length === 0;
  list.replaceChildren(...lines.toReversed().map((line) => item(line)));
}

/** Frames shown in each of the last seconds, in the mean. */
function framesPerSecond() {
  const now = samples.at(-1);
  const since = samples.find((sample) => sample.t_s >= now.t_s - 2);
  const span = now.t_s - since.t_s;
  return span > 1 && now.frames_shown ? [`${Math.round((now.frames_shown - since.frames_shown) / span)} fps`] : [];
}

/** Where the frames went. In a call, this end's frames and the peer's are two accounts. */
function accounts(sample) {
  const captured = sample.frames_sent === null ? null : sample.frames_sent + sample.frames_discarded;
  const arrived = sample.frames_shown === null ? null : sample.frames_shown + sample.frames_frozen;
  const both = info.mode === "demo";
  const row = (name, frames, base, sub) => [name, frames === null ? null : count(frames), base ? text(percent((100 * frames) / base)) : "–", sub];
  // Only who has a slow source or processor needs the row.
  const missed = sample.frames_missed > 0 ? [row("Not captured in time", sample.frames_missed, null, false)] : [];
  const reasons = Object.entries(sample.discarded).sort(([a], [b]) => a.localeCompare(b));
  const received = both ? captured : arrived;
  const sending = [
    ...missed,
    row("Captured", captured, captured, false),
    row("Sent", sample.frames_sent, captured, true),
    row("Discarded before sending", sample.frames_discarded, captured, true),
    ...reasons.map(([reason, frames]) => row(words(reason), frames, captured, true)),
  ];
  const receiving = [
    ...(both ? [] : [row("Arrived", arrived, arrived, false)]),
    row("Shown", sample.frames_shown, received, true),
    row("Incomplete when due", sample.frames_late, received, true),
    row("Damaged on the way", sample.frames_damaged, received, true),
    row("Concealed in part", sample.frames_concealed, received, true),
    row("Arrived, not shown", sample.frames_frozen, received, true),
  ];
  set($("share"), both || info.mode === "send" ? "Share of captured" : info.mode === "recv" ? "Share of arrived" : "Share");
  fill($("frames"), [...sending, ...receiving].filter(([, frames]) => frames !== null));
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
    image.onload = () => {
      image.hidden = false;
      image.parentElement.style.setProperty("--aspect", image.naturalWidth / image.naturalHeight);
      if (info) tellRun();
    };
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
