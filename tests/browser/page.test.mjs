// The live page in a real browser: `node page.test.mjs [--screenshots FOLDER]`.
//
// EVENKEEL      the program to start (default: target/release/evenkeel)
// EVENKEEL_URL  a running demo's page to test instead; the restart is then not tested
// CHROMIUM      the browser (default: /usr/bin/chromium)

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdir } from "node:fs/promises";
import http from "node:http";
import path from "node:path";
import { chromium } from "playwright-core";
import { BROWSER, BROWSER_ARGS, PROGRAM, freePort, until } from "./common.mjs";

const asked = process.argv.indexOf("--screenshots");
const FOLDER = asked < 0 ? null : process.argv[asked + 1];

// ---- the program under test

let program = null;
let base = process.env.EVENKEEL_URL;

async function start(port) {
  program = spawn(PROGRAM, ["demo", "--page", `127.0.0.1:${port}`], { stdio: ["ignore", "ignore", "inherit"] });
  program.on("error", (error) => console.error(`cannot start ${PROGRAM}: ${error.message}`));
  await until("the program answers", 15, async () => (await get("/api/sample")).status === 200);
}

function stop() {
  if (program === null) return Promise.resolve();
  const ended = new Promise((done) => program.once("exit", done));
  program.kill("SIGINT");
  program = null;
  return ended;
}

/** A request with any headers, Host and Origin included, which fetch() would not allow. */
function request(method, route, headers = {}, body = undefined) {
  return new Promise((done, failed) => {
    const sent = http.request(new URL(route, base), { method, headers }, (answer) => {
      let text = "";
      answer.on("data", (chunk) => { text += chunk; });
      answer.on("end", () => done({ status: answer.statusCode, headers: answer.headers, text }));
    });
    sent.on("error", failed);
    sent.end(body);
  });
}

const get = (route, headers) => request("GET", route, headers).catch(() => ({ status: 0 }));
const change = (knobs, headers = {}) =>
  request("POST", "/api/link", { "content-type": "application/json", ...headers }, JSON.stringify(knobs));
const sample = async () => JSON.parse((await get("/api/sample")).text);

// ---- what the browser shows

/** A hash of a picture's or a chart's pixels. */
const pixels = (page, selector) => page.locator(selector).evaluate((element) => {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [160, 120];
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  pen.drawImage(element, 0, 0, canvas.width, canvas.height);
  return pen.getImageData(0, 0, canvas.width, canvas.height).data.reduce((hash, byte) => (hash * 31 + byte) >>> 0, 7);
});

async function changes(page, selector, seconds) {
  const before = await pixels(page, selector);
  await until(`${selector} changes`, seconds, async () => (await pixels(page, selector)) !== before);
}

/** Moves a slider with the keyboard, one step at a time, until the link's setting is as `reached` wants it. */
async function slide(page, field, key, reached) {
  const slider = page.locator(`#knob-${field}`);
  const setting = async () => (await sample()).knobs[field];
  await slider.focus();
  for (let now = await setting(); !reached(now);) {
    const before = now;
    await slider.press(key);
    await until(`${key} moves ${field} from ${before}`, 3, async () => (now = await setting()) !== before);
  }
}

/** Chooses a value with the keyboard, and waits until the program says that it holds. */
async function choose(page, field, value) {
  const select = page.locator(`#knob-${field}`);
  await until(`${field} can be chosen`, 5, () => select.isEnabled());
  const name = await select.locator(`option[value=${value}]`).innerText();
  await select.focus();
  await page.keyboard.type(name);
  await until(`${field} is ${value}`, 5, async () => (await sample()).knobs[field] === value);
  await page.waitForTimeout(1000);
  assert.equal(await select.inputValue(), value);
}

const badges = (page) => page.locator("#badges").innerText();

/** Names of what can be focused, by the browser's own accessibility tree. */
async function focusables(page) {
  const session = await page.context().newCDPSession(page);
  const { nodes } = await session.send("Accessibility.getFullAXTree");
  await session.detach();
  return nodes
    .filter((node) => !node.ignored && node.role?.value !== "RootWebArea")
    .filter((node) => node.properties?.some(({ name, value }) => name === "focusable" && value.value))
    .map((node) => ({ role: node.role.value, name: node.name?.value ?? "" }));
}

/** The pages of two commands that send to each other, at two widths. */
async function pages(browser, first, second) {
  const [here, there] = [await freePort(), await freePort()];
  const [portOfFirst, portOfSecond] = [await freePort(), await freePort()];
  const page = (port) => ["--page", `127.0.0.1:${port}`, "--seconds", "180"];
  const args = {
    recv: [["recv", `127.0.0.1:${here}`, "--plain", ...page(portOfFirst)]],
    send: [["send", `127.0.0.1:${here}`, "--plain", ...page(portOfSecond)]],
    call: [
      ["call", `127.0.0.1:${there}`, "--plain", "--bind", `127.0.0.1:${here}`, ...page(portOfFirst)],
      ["call", `127.0.0.1:${here}`, "--plain", "--bind", `127.0.0.1:${there}`, ...page(portOfSecond)],
    ],
  };
  const commands = [args[first].at(0), args[second].at(-1)];
  const programs = commands.map((words) => spawn(PROGRAM, words, { stdio: ["ignore", "ignore", "inherit"] }));
  try {
    for (const [command, port] of [[first, portOfFirst], [second, portOfSecond]]) {
      for (const width of [1400, 390]) {
        const page = await browser.newPage({ viewport: { width, height: 900 } });
        const of = `${command} at ${width} px`;
        await until(`${of}: its page is there`, 20, () => page.goto(`http://127.0.0.1:${port}/`, { waitUntil: "domcontentloaded" }).then(() => true, () => false));
        const shown = command === "send" ? "#sent" : "#received";
        await until(`${of}: a picture is there`, 15, () => page.locator(`${shown} img`).isVisible());
        await until(`${of}: the state is no riddle`, 15, async () => /^(Good|Late|\d+\s%|Source or encoder is too slow)/.test(await badges(page)));
        const { width: wide, height: high } = await page.locator(`${shown} .screen`).boundingBox();
        assert.ok(wide > 280 && Math.abs(wide / high - 4 / 3) < 0.02, `${of}: the picture has ${wide} x ${high} px`);
        const run = page.locator("#run");
        await until(`${of}: the size is the stream's`, 10, async () => /640×480/.test(await run.innerText()));
        const header = await run.innerText();
        assert.doesNotMatch(header, /\b0×0|\b0 fps|seed 0/, of);
        if (command === "call") {
          const own = await page.locator("#sent .screen").boundingBox();
          assert.ok(own.width < wide / 2, `${of}: one's own picture is small`);
        }
        if (command === "recv") {
          const rates = await page.locator("#chart-rates .legend").innerText();
          assert.doesNotMatch(rates, /Allowed rate/, `${of}: a receiver has no allowed rate`);
        }
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), `${of}: nothing overflows`);
        if (FOLDER) {
          await mkdir(FOLDER, { recursive: true });
          await page.screenshot({ path: path.join(FOLDER, `${command}-${width}.png`), fullPage: true });
        }
        await page.close();
      }
    }
  } finally {
    for (const other of programs) other.kill("SIGINT");
  }
}

/** The page of an end that invites, and the end that takes its line from there. */
async function invitation(browser) {
  const port = await freePort();
  const start = (...words) => spawn(PROGRAM, ["call", ...words, "--seconds", "120"], { stdio: ["ignore", "ignore", "inherit"] });
  const programs = [start("--bind", "127.0.0.1:0", "--page", `127.0.0.1:${port}`)];
  const page = await browser.newPage({ viewport: { width: 390, height: 900 } });
  try {
    await until("the inviter's page is there", 20, () => page.goto(`http://127.0.0.1:${port}/`, { waitUntil: "domcontentloaded" }).then(() => true, () => false));
    await until("its state says that it waits", 10, async () => /Waiting for the other end/.test(await badges(page)));
    const shown = () => page.locator("#invitation code").innerText();
    await until("the invitation is there", 5, async () => /^evenkeel call evenkeel:[\w-]{70,}$/.test(await shown()));
    const line = await shown();
    assert.ok(await page.locator("#invitation button").isVisible(), "it can be copied");
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), "nothing overflows");
    programs.push(start(line.split(" ").at(-1), "--headless"));
    await until("both ends have words", 20, async () => /Encrypted: [a-z]+ [a-z]+ [a-z]+ [a-z]+/.test(await badges(page)));
    assert.ok(await page.locator("#invitation").isHidden(), "the invitation was used");
    await until("the other's picture is there", 20, () => page.locator("#received img").isVisible());
  } finally {
    await page.close();
    for (const program of programs) program.kill("SIGINT");
  }
}

// ---- the checks

const CHECKS = {
  async "the header says what is running"(page) {
    const info = JSON.parse((await get("/api/info")).text);
    const header = await page.locator("#run").innerText();
    for (const fact of [info.mode, info.source, `${info.width}×${info.height}`, `${info.fps} fps`, `seed ${info.seed}`]) {
      assert.ok(header.includes(fact), `${JSON.stringify(header)} lacks ${fact}`);
    }
    const command = info.words.join(" ");
    await until("the command is there", 3, async () => (await page.locator("#command").innerText()) === command);
  },

  async "both pictures change"(page) {
    for (const id of ["sent", "received"]) {
      await until(`the ${id} picture is there`, 10, () => page.locator(`#${id} img`).isVisible());
      await changes(page, `#${id} img`, 3);
      await changes(page, `#${id} img`, 3);
    }
  },

  async "the charts move and their legends count"(page) {
    await page.locator("#details summary").click();
    for (const id of ["rates", "delay", "rtt", "x"]) {
      await changes(page, `#chart-${id} canvas`, 3);
      assert.match(await page.locator(`#chart-${id} .legend`).innerText(), /\d+\s*(Mb\/s|kb\/s|ms)/);
    }
  },

  async "a chart is read by pointer and by keyboard"(page) {
    const canvas = page.locator("#chart-rates canvas");
    const ago = page.locator("#chart-rtt .chart-head span");
    await canvas.hover({ position: { x: (await canvas.boundingBox()).width - 30, y: 40 } });
    await until("the pointer reads", 2, async () => /^\d+\.\d s ago$/.test(await ago.innerText()));
    await page.mouse.move(0, 0);
    await until("it ends when the pointer leaves", 2, async () => (await ago.innerText()) === "");
    await canvas.focus();
    await canvas.press("ArrowLeft");
    await canvas.press("ArrowLeft");
    await until("the arrow keys read", 2, async () => /^[12]\.\d s ago$/.test(await ago.innerText()));
    await canvas.press("Escape");
  },

  async "the state is said in plain words, and in TFRC's a click away"(page) {
    await until("the state is good", 30, async () => /Good: \d+\sms, [\d.]+\s[kM]b\/s of a 3\.00\sMb\/s link/.test(await badges(page)));
    assert.match(await badges(page), /Live/);
    assert.match(await page.locator("#phase").innerText(), /^(Slow start|Congestion avoidance): /);
  },

  async "a peak of a second does not flatten a chart"(page) {
    const peaks = await page.evaluate(async () => {
      const { peaks } = await import("/chart.js");
      const spec = { atLeast: 100, series: [{ value: (sample) => sample.ms }] };
      const minute = (peak, length) => Array.from({ length: 600 }, (_, n) => ({ ms: n >= 300 && n < 300 + length ? peak : 140 }));
      return [minute(900, 20), minute(900, 40), minute(200, 20), []].map((samples) => peaks(spec, samples));
    });
    assert.deepEqual(peaks, [
      { peak: 900, usual: 140 }, { peak: 900, usual: 900 }, { peak: 200, usual: 200 }, { peak: 100, usual: 100 },
    ]);
  },

  async "each state has its sentence"(page) {
    const said = await page.evaluate(async () => {
      const { status } = await import("/status.js");
      const second = {
        state: "congestion avoidance", frames_sent: 25, frames_shown: 25, frames_concealed: 0, frames_frozen: 0,
        frames_discarded: 0, deadline_ms: 150, frame_delay_p95_ms: 103, throughput_bps: 1e6, link_bps: 3e6, tcp_bps: null,
        knobs: { tcp: 0 },
      };
      /** Half a minute, in each second of which the counters grow so. */
      const run = (change = {}, mode = "demo", seconds = 30) => {
        const samples = Array.from({ length: seconds }, (_, n) => {
          const sample = { ...second, ...change, ...change.at?.(n), t_s: n };
          for (const key of Object.keys(sample).filter((name) => name.startsWith("frames_"))) {
            if (sample[key] !== null) sample[key] *= n;
          }
          return sample;
        });
        return status(samples, { mode, max_rate_bps: change.max_rate_bps ?? null }).join(" ").replaceAll("\u00a0", " ");
      };
      const here = { frames_sent: null, frames_discarded: null, deadline_ms: null, frame_delay_p95_ms: null, link_bps: null };
      return [
        run(), run({ tcp_bps: 1.25e6 }), run({ tcp_bps: 0.25e6 }), run({ tcp_bps: 0.25e6 }, "demo", 5), run({ frame_delay_p95_ms: 180 }),
        run({ frames_shown: 5, frames_frozen: 20 }), run({ frames_sent: 20, frames_discarded: 5 }), run({ state: "peer gone" }),
        run({ frames_shown: 0 }), run(here, "recv"), run({ ...here, frames_shown: 0 }, "recv"),
        run({ frames_shown: null, frame_delay_p95_ms: null, link_bps: null }, "send"), run({}, "demo", 1),
        run({ x_bps: 1e6, max_rate_bps: 1e6 }), run({ frames_missed: 25 }),
        // While TCP starts, it has little, and no share is taken.
        run({ at: (n) => ({ tcp_bps: n < 10 ? 0.1e6 : 1e6, knobs: { tcp: 1 } }) }),
        run({ at: (n) => (n < 12 ? {} : { tcp_bps: 0.1e6, knobs: { tcp: 1 } }) }),
      ];
    });
    assert.deepEqual(said, [
      "good Good: 103 ms, 1.00 Mb/s of a 3.00 Mb/s link",
      "good Good: 103 ms, 1.00 Mb/s of a 3.00 Mb/s link, 0.80 times what each TCP flow has, a fair share",
      "warn More than a fair share: 103 ms, 1.00 Mb/s of a 3.00 Mb/s link, 4.00 times what each TCP flow has",
      "good Good: 103 ms, 1.00 Mb/s of a 3.00 Mb/s link",
      "warn Late: 180 ms, 1.00 Mb/s of a 3.00 Mb/s link",
      "warn 80 % of the frames are broken: 103 ms, 1.00 Mb/s of a 3.00 Mb/s link",
      "warn 20 % of the frames are discarded: the rate is too low: 103 ms, 1.00 Mb/s of a 3.00 Mb/s link",
      "bad The other end has left: 103 ms, 1.00 Mb/s of a 3.00 Mb/s link",
      "warn Waiting for the other end: 103 ms, 1.00 Mb/s of a 3.00 Mb/s link",
      "good Good: 1.00 Mb/s",
      "warn No picture yet: 1.00 Mb/s",
      "good Good: 1.00 Mb/s",
      "warn Waiting for the other end: 103 ms, 1.00 Mb/s of a 3.00 Mb/s link",
      "good Good: 103 ms, 1.00 Mb/s of a 3.00 Mb/s link, limited to 1.00 Mb/s by --max-rate",
      "warn Source or encoder is too slow for 50 % of the frames: 103 ms, 1.00 Mb/s of a 3.00 Mb/s link",
      "good Good: 103 ms, 1.00 Mb/s of a 3.00 Mb/s link, 1.00 times what each TCP flow has, a fair share",
      "good Good: 103 ms, 1.00 Mb/s of a 3.00 Mb/s link",
    ]);
  },

  async "each command's page shows its pictures at any width"(_page, { browser }) {
    for (const [first, second] of [["recv", "send"], ["call", "call"]]) await pages(browser, first, second);
  },

  async "an invitation is on the page until it is used"(_page, { browser }) {
    await invitation(browser);
  },

  async "the rate slider changes the link and the rate follows"(page) {
    await slide(page, "rate_bps", "ArrowLeft", (rate) => rate <= 1e6);
    assert.equal(await page.locator("#knobs output").first().innerText(), "1.00\u00a0Mb/s");
    assert.equal(await page.locator("#knob-rate_bps").getAttribute("aria-valuetext"), "1.00\u00a0Mb/s");
    await until("the link is slow", 3, async () => (await sample()).link_bps === 1e6);
    await until("the throughput follows down", 20, async () => (await sample()).throughput_bps < 1.1e6);
    await until("the chart's legend says so", 3, async () => /Link\s*1\.00/.test(await page.locator("#chart-rates .legend").innerText()));
    await slide(page, "rate_bps", "ArrowRight", (rate) => rate >= 3e6);
    await until("the throughput follows up", 60, async () => (await sample()).throughput_bps > 1.5e6);
  },

  async "delay and queue sliders act"(page) {
    await slide(page, "queue_ms", "ArrowRight", (queue) => queue >= 70);
    await slide(page, "delay_ms", "ArrowRight", (delay) => delay >= 300);
    await until("the round trip follows", 15, async () => (await sample()).rtt_ms >= 290);
    await until("the stretched deadline has its badge", 30, async () => /Deadline stretched to \d+/.test(await badges(page)));
    await slide(page, "delay_ms", "ArrowLeft", (delay) => delay <= 60);
  },

  async "TCP flows take their share of the link"(page) {
    const allowed = async () => (await sample()).x_bps;
    await until("the call has most of the link", 60, async () => (await allowed()) > 2e6);
    await slide(page, "tcp", "ArrowRight", (flows) => flows === 4);
    assert.equal(await page.locator("#knob-tcp").getAttribute("aria-valuetext"), "4");
    await until("TCP has throughput", 10, async () => (await sample()).tcp_bps > 200e3);
    await until("the allowed rate falls", 30, async () => (await allowed()) < 1.2e6);
    await until("the chart's legend says so", 3, async () => /TCP, each\s*\d/.test(await page.locator("#chart-rates .legend").innerText()));
    await until("the fair share is shown", 3, async () => /Fair share\s*600\skb\/s/.test(await page.locator("#chart-rates .legend").innerText()));
    await until("so is the ratio", 40, async () => /[\d.]+ times what each TCP flow has/.test(await badges(page)));
    await until("the command has the flows", 3, async () => / --tcp 4$/.test(await page.locator("#command").innerText()));
    const flows = async () => (await sample()).knobs.tcp;
    await page.getByRole("button", { name: "Stop TCP" }).click();
    await until("the button stops all flows", 3, async () => (await flows()) === 0);
    await until("TCP has gone", 10, async () => (await sample()).tcp_bps === null);
    await until("the allowed rate rises again", 60, async () => (await allowed()) > 2e6);
    await page.getByRole("button", { name: "Start TCP" }).click();
    await until("the button starts as many as there were", 3, async () => (await flows()) === 4);
    await slide(page, "tcp", "ArrowLeft", (flows) => flows === 0);
    assert.ok(await page.getByRole("button", { name: "Start TCP" }).isVisible());
  },

  async "the codec changes while it runs, and frames of the new one are shown"(page) {
    const shown = async (codec) => (await sample()).shown[codec] ?? 0;
    for (const codec of ["h264", "mjpeg", "h264", "mjpeg"]) {
      const before = await sample();
      await choose(page, "codec", codec);
      await until(`frames of ${codec} are shown`, 10, async () => (await shown(codec)) >= (before.shown[codec] ?? 0) + 25);
      const after = await sample();
      // Of what was captured and not discarded meanwhile, no more than a second's frames are missing.
      const sent = after.frames_sent - before.frames_sent;
      const seen = after.frames_shown - before.frames_shown;
      assert.ok(seen >= sent - 25, `${codec}: ${seen} of ${sent} frames shown`);
      for (const id of ["sent", "received"]) await changes(page, `#${id} img`, 3);
    }
  },

  async "the policy changes how much waits at the link"(page) {
    const queue = async () => {
      let sum = 0;
      for (let asked = 0; asked < 20; asked += 1) {
        sum += (await sample()).queue_ms;
        await new Promise((done) => setTimeout(done, 100));
      }
      return sum / 20;
    };
    // The thesis fills the deadline and with it the queue; a target above X is only seen until the buffer is full.
    await choose(page, "policy", "thesis");
    await until("frames fill the link's queue", 20, async () => (await queue()) > 50);
    await choose(page, "policy", "evenkeel");
    await until("the link's queue is short again", 20, async () => (await queue()) < 45);
  },

  async "the filler comes and goes"(page) {
    const filler = async () => (await sample()).filler_bps;
    assert.equal(await filler(), 0);
    await choose(page, "filler", "dummy");
    await until("dummies fill the rate", 20, async () => (await filler()) > 1e3);
    await until("the page says so", 5, async () => /filler [\d.]+/.test(await page.locator("#sent-note").innerText()));
    await slide(page, "loss_pct", "ArrowRight", (loss) => loss >= 1);
    await choose(page, "filler", "fec");
    await until("repair packets are sent", 20, async () => (await filler()) > 1e3);
    await slide(page, "loss_pct", "ArrowLeft", (loss) => loss === 0);
    await choose(page, "filler", "none");
    await until("none is sent", 20, async () => (await filler()) === 0);
  },

  async "two pages agree on what is chosen"(page, { browser }) {
    const other = await browser.newPage();
    await other.goto(base);
    await choose(other, "policy", "thesis");
    await until("the first page follows", 5, async () => (await page.locator("#knob-policy").inputValue()) === "thesis");
    await choose(page, "policy", "evenkeel");
    await until("so does the second", 5, async () => (await other.locator("#knob-policy").inputValue()) === "evenkeel");
    await other.close();
  },

  async "loss is seen in p, and lost frames with their reasons"(page) {
    await slide(page, "loss_pct", "ArrowRight", (loss) => loss >= 5);
    await until("p follows", 20, async () => (await sample()).p > 0.005);
    await changes(page, "#chart-loss canvas", 5);
    assert.match(await page.locator("#chart-loss .legend").innerText(), /0\.\d+\s*1 in \d+ packets/);
    const lost = (now) => now.frames_late + now.frames_concealed + now.frames_discarded;
    await until("frames are lost", 30, async () => lost(await sample()) > 0);
    await changes(page, "#chart-lost canvas", 5);
    const table = page.locator("#frames");
    await until("each reason has its row", 5, async () => {
      const shown = await table.innerText();
      return Object.keys((await sample()).discarded).every((reason) => shown.includes(reason.replaceAll("_", " ")));
    });
    for (const row of ["Sent", "Shown", "Incomplete when due", "Damaged on the way", "Concealed in part", "Arrived, not shown", "Discarded before sending"]) {
      assert.match(await table.innerText(), new RegExp(`${row}\\s+[\\d\\u202f]+\\s+[\\d.]+`));
    }
    await slide(page, "loss_pct", "ArrowLeft", (loss) => loss === 0);
  },

  async "every control has a name"(page) {
    const controls = await focusables(page);
    assert.ok(controls.filter(({ role }) => role === "slider").length === 5, JSON.stringify(controls));
    const selects = controls.filter(({ role }) => role === "combobox").map(({ name }) => name);
    assert.deepEqual(selects, ["Codec", "Policy", "Filler"]);
    for (const control of controls) assert.notEqual(control.name.trim(), "", JSON.stringify(control));
  },

  async "nothing overflows at a phone's width"(page) {
    const before = page.viewportSize();
    await page.setViewportSize({ width: 360, height: 740 });
    await page.waitForTimeout(300);
    const wide = await page.evaluate(() => [...document.body.querySelectorAll("*")]
      .filter((element) => element.getBoundingClientRect().right > window.innerWidth + 0.5)
      .map((element) => element.outerHTML.slice(0, 80)));
    assert.deepEqual(wide, []);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth));
    await page.setViewportSize(before);
  },

  async "losses that are left out are named, at a phone's width too"(_page, { browser }) {
    const port = await freePort();
    const args = ["demo", "--page", `127.0.0.1:${port}`, "--random-loss", "--seconds", "20"];
    const other = spawn(PROGRAM, args, { stdio: ["ignore", "ignore", "inherit"] });
    const phone = await browser.newPage({ viewport: { width: 360, height: 740 } });
    try {
      await until("its page is there", 10, () => phone.goto(`http://127.0.0.1:${port}/`).then(() => true, () => false));
      await until("the badge is there", 10, async () => /Random loss: none found|Tolerates \S+\s% loss/.test(await badges(phone)));
      assert.ok(await phone.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth));
    } finally {
      await phone.close();
      other.kill("SIGINT");
    }
  },

  async "a late joiner sees the minute before"(_page, { browser }) {
    const late = await browser.newPage();
    await late.goto(base);
    const before = (await sample()).t_s;
    assert.ok(before > 5);
    await late.locator("#chart-rates canvas").focus();
    await late.keyboard.press("PageUp");
    const ago = late.locator("#chart-rates .chart-head span");
    const wanted = Math.min(10, before) - 1.5;
    await until("values from before it came", 3, async () => parseFloat(await ago.innerText()) >= wanted);
    await late.close();
  },

  async "other names, sites and values are refused"() {
    const { host } = new URL(base);
    assert.equal((await get("/api/sample", { host: "rebound.example" })).status, 421);
    assert.equal((await change({ rate_bps: 2e6 }, { origin: "http://elsewhere.example" })).status, 403);
    assert.equal((await change({ rate_bps: 2e6 }, { origin: "null" })).status, 403);
    assert.equal((await request("POST", "/api/link", { "content-type": "text/plain" }, '{"rate_bps":2e6}')).status, 415);
    assert.equal((await change({ rate_bps: 3e6 }, { origin: `http://${host}` })).status, 200);
    const absurd = await change({ loss_pct: 101 });
    assert.deepEqual([absurd.status, absurd.text], [422, "loss_pct is 101: it must be from 0 to 100\n"]);
    const before = (await sample()).knobs;
    const unknown = await change({ rate_bps: 1e6, codec: "vp9" });
    assert.equal(unknown.status, 422);
    assert.match(unknown.text, /^not a set of knobs: no such codec; there are mjpeg, /);
    assert.deepEqual((await sample()).knobs, before);
    assert.equal((await change({ padding: "x".repeat(5000) })).status, 413);
    assert.equal((await get("/etc/passwd")).status, 404);
  },

  async "every answer carries its protection"() {
    for (const route of ["/", "/page.js", "/api/sample", "/nothing"]) {
      const { headers } = await get(route);
      assert.equal(headers["cache-control"], "no-store");
      assert.equal(headers["x-content-type-options"], "nosniff");
      assert.match(headers["content-security-policy"], /^default-src 'none'; script-src 'self'; /);
    }
  },

  async "nothing was loaded from elsewhere, and the console is clean"(_page, { requests, errors }) {
    assert.ok(requests.length > 0);
    assert.deepEqual(requests.filter((url) => new URL(url).origin !== new URL(base).origin), []);
    assert.deepEqual(errors, []);
  },

  async "the page says when the program is gone, and comes back with it"(page) {
    if (program === null) return "skipped: the program is not ours to stop";
    const { port } = new URL(base);
    await stop();
    await until("it says so", 10, async () => (await page.locator("#notice").isVisible()) && /Reconnecting/.test(await badges(page)));
    await start(port);
    await until("it is back", 10, async () => (await page.locator("#notice").isHidden()) && /Live/.test(await badges(page)));
    await changes(page, "#chart-rates canvas", 5);
    for (const id of ["sent", "received"]) await changes(page, `#${id} img`, 10);
    return undefined;
  },
};

async function screenshots(browser) {
  await mkdir(FOLDER, { recursive: true });
  for (const [device, width, height, deviceScaleFactor] of [["desktop", 1440, 900, 1], ["phone", 360, 740, 2]]) {
    for (const colorScheme of ["light", "dark"]) {
      const page = await browser.newPage({ viewport: { width, height }, colorScheme, deviceScaleFactor });
      await page.goto(base);
      await until("the picture is there", 10, () => page.locator("#received img, #sent img").last().isVisible());
      await page.waitForTimeout(1000);
      await page.screenshot({ path: path.join(FOLDER, `${device}-${colorScheme}.png`), fullPage: true });
      await page.close();
    }
  }
}

async function main() {
  if (base === undefined) {
    const port = await freePort();
    base = `http://127.0.0.1:${port}/`;
    await start(port);
  }
  const browser = await chromium.launch({ executablePath: BROWSER, args: BROWSER_ARGS });
  const [requests, errors] = [[], []];
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  page.on("request", (sent) => requests.push(sent.url()));
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) errors.push(message.text());
  });
  page.on("pageerror", (error) => errors.push(String(error)));
  await page.goto(base);

  let [passed, failed] = [0, 0];
  for (const [name, check] of Object.entries(CHECKS)) {
    try {
      const note = await check(page, { browser, requests, errors });
      passed += 1;
      console.log(`ok      ${name}${note ? ` (${note})` : ""}`);
    } catch (error) {
      failed += 1;
      console.log(`FAILED  ${name}\n        ${error.message}`);
    }
  }
  if (FOLDER) await screenshots(browser);
  await browser.close();
  await stop();
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}

try {
  await main();
} catch (error) {
  console.error(error.message);
  program?.kill("SIGKILL");
  console.log("0 passed, 1 failed");
  process.exit(1);
}
