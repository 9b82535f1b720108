// A call with a real browser: `node call.test.mjs`. EVENKEEL and CHROMIUM as in page.test.mjs.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import tls from "node:tls";
import { chromium } from "playwright-core";
import { BROWSER, BROWSER_ARGS, CAMERA_ARGS, ROOT, call, freePort, until } from "./common.mjs";

const OFFER = await readFile(path.join(ROOT, "testdata/offers/chromium.sdp"), "utf8");

/** A page whose connections and cameras the test sees. */
async function person(browser, link, options = {}) {
  const context = await browser.newContext({ ignoreHTTPSErrors: true, ...options });
  const page = await context.newPage();
  await page.addInitScript(() => {
    window.connections = [];
    window.cameras = [];
    const Connection = RTCPeerConnection;
    window.RTCPeerConnection = class extends Connection {
      constructor(...args) { super(...args); window.connections.push(this); }
    };
    const ask = navigator.mediaDevices?.getUserMedia.bind(navigator.mediaDevices);
    if (ask) {
      navigator.mediaDevices.getUserMedia = async (wanted) => {
        await window.permission;
        const stream = await ask(wanted);
        window.cameras.push(...stream.getTracks());
        return stream;
      };
    }
  });
  await page.goto(link);
  return page;
}

const words = (page) => page.locator("#words").innerText();
const join = (page) => page.locator("#join").click();
const leave = (page) => page.locator("#leave").click();
const says = (page, pattern, seconds = 15) =>
  until(`the page says ${pattern}`, seconds, async () => pattern.test(await words(page)))
    .catch(async (error) => { throw new Error(`${error.message}; it says: ${await words(page)}`); });

/** The frames that the last connection has encoded and decoded. */
const frames = (page) => page.evaluate(async () => {
  const found = { encoded: 0, decoded: 0 };
  for (const report of (await window.connections.at(-1).getStats()).values()) {
    if (report.type === "outbound-rtp") found.encoded += report.framesEncoded;
    if (report.type === "inbound-rtp") found.decoded += report.framesDecoded;
  }
  return found;
});

async function flows(page, sample) {
  const [before, shown] = [await frames(page), (await sample()).frames_shown];
  await until("pictures change both ways", 20, async () => {
    const now = await frames(page);
    return now.encoded > before.encoded + 20 && now.decoded > before.decoded + 20 && (await sample()).frames_shown > shown + 20;
  }).catch(async (error) => { throw new Error(`${error.message}: ${JSON.stringify([before, await frames(page)])}`); });
}

const camerasAreOff = (page) => page.evaluate(() => window.cameras.every((track) => track.readyState === "ended"));

const post = (room, token, what = "whip", body = OFFER, headers = {}) => fetch(`${room}/${what}`, {
  method: "POST", body, headers: { "content-type": "application/sdp", authorization: `Bearer ${token}`, ...headers },
});

const tests = {
  async "a person joins, and pictures change both ways"(browser, { link, sample }) {
    const page = await person(browser, link);
    await join(page);
    await says(page, /You are in the call/);
    await flows(page, sample);

    // A second browser is refused, and the first goes on.
    const second = await person(browser, link);
    await join(second);
    await says(second, /Somebody else is in this call/);
    assert.ok(await camerasAreOff(second));
    await flows(page, sample);

    // Leave turns the camera off, and lets the second in.
    await leave(page);
    await says(page, /You have left/);
    assert.ok(await camerasAreOff(page));
    await join(second);
    await says(second, /You are in the call/);
    await flows(second, sample);
    await leave(second);
    await page.context().close();
    await second.context().close();
  },

  async "leave at the question for the camera turns it off"(browser, { link }) {
    const page = await person(browser, link);
    await page.evaluate(() => { window.permission = new Promise((done) => { window.allow = done; }); });
    await join(page);
    await leave(page);
    await page.evaluate(() => window.allow());
    await until("the camera was given", 10, () => page.evaluate(() => window.cameras.length > 0));
    await until("and is off", 5, () => camerasAreOff(page));
    assert.equal(await page.evaluate(() => window.connections.length), 0);
    await page.context().close();
  },

  async "a wrong link is refused in words"(browser, { room, token }) {
    const page = await person(browser, `${room}#${"0".repeat(32)}`);
    await join(page);
    await says(page, /This link is wrong or too old/);
    assert.ok(await camerasAreOff(page));
    await page.context().close();
    const answer = await post(room, `${token}0`);
    assert.equal(answer.status, 401);
    assert.equal(answer.headers.get("www-authenticate"), "Bearer");
    const elsewhere = await post(room.replace(/\/call$/, "/other"), token);
    assert.equal(elsewhere.status, 404);
  },

  async "a camera that is not allowed is said in words"(browser, { link }) {
    const page = await person(browser, link);
    await page.evaluate(() => {
      navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException("no", "NotAllowedError"));
    });
    await join(page);
    await says(page, /The camera is not allowed/);
    assert.ok(await page.locator("#join").isEnabled());
    await page.context().close();
  },

  async "a session takes candidates and ends as RFC 9725 says"(_browser, { room, token }) {
    const answer = await post(room, token);
    assert.equal(answer.status, 201, await answer.clone().text());
    assert.equal(answer.headers.get("content-type"), "application/sdp");
    const session = new URL(answer.headers.get("location"), room);
    const etag = answer.headers.get("etag");
    assert.match(await answer.text(), /^m=video 9 UDP\/TLS\/RTP\/SAVPF 109\r$/m);
    assert.equal((await post(room, token)).status, 409);
    const patch = (headers, body = "a=candidate:1 1 udp 1 192.0.2.1 9 typ host\r\n") => fetch(session, {
      method: "PATCH", body,
      headers: { "content-type": "application/trickle-ice-sdpfrag", authorization: `Bearer ${token}`, ...headers },
    });
    assert.equal((await patch({ "if-match": etag })).status, 204);
    assert.equal((await patch({})).status, 428);
    assert.equal((await patch({ "if-match": "\"other\"" })).status, 412);
    const other = `a=ice-ufrag:other\r\na=ice-pwd:${"p".repeat(24)}\r\n`;
    assert.equal((await patch({ "if-match": etag }, other)).status, 422);
    const end = (headers) => fetch(session, { method: "DELETE", headers });
    assert.equal((await end({})).status, 401);
    assert.equal((await end({ authorization: `Bearer ${token}` })).status, 200);
    assert.equal((await end({ authorization: `Bearer ${token}` })).status, 404);

    const asked = await fetch(`${room}/whip`, { method: "OPTIONS" });
    assert.equal(asked.status, 204);
    assert.equal(asked.headers.get("accept-post"), "application/sdp");
    assert.equal(asked.headers.get("access-control-allow-origin"), "*");
    assert.equal((await fetch(`${room}/whip`, { headers: { authorization: `Bearer ${token}` } })).status, 405);
    for (const [status, what, body, headers] of [
      [415, "whip", OFFER, { "content-type": "text/plain" }],
      [400, "whip", "v=0\n", {}],
      [406, "whip", OFFER.replaceAll("H264", "H265"), {}],
      [400, "whep", OFFER, {}],
      [400, "whip", OFFER.replaceAll("a=sendrecv", "a=recvonly"), {}],
      [413, "whip", "a=x\n".repeat(20_000), {}],
    ]) {
      const refused = await post(room, token, what, body, headers);
      assert.equal(refused.status, status, await refused.text());
    }
    const plays = await post(room, token, "whep", OFFER.replaceAll("a=sendrecv", "a=recvonly"));
    assert.equal(plays.status, 201);
    assert.match(await plays.text(), /^a=sendonly\r$/m);
    // Nobody speaks for this session: it ends by itself.
    assert.equal((await post(room, token)).status, 409);
    let free;
    await until("silence ends the session", 14, async () => (free = await post(room, token)).status === 201);
    await fetch(new URL(free.headers.get("location"), room), { method: "DELETE", headers: { authorization: `Bearer ${token}` } });
  },

  async "a session that is ended elsewhere is over on the page"(browser, { link, room, token }) {
    const page = await person(browser, link);
    const answered = page.waitForResponse((response) => response.request().method() === "POST");
    await join(page);
    const session = new URL((await answered).headers().location, room);
    await says(page, /You are in the call/);
    await fetch(session, { method: "DELETE", headers: { authorization: `Bearer ${token}` } });
    await says(page, /The other end has ended the call/, 5);
    await page.context().close();
  },

  async "nothing overflows at a phone's width, and every control has a name"(browser, { link }) {
    const page = await person(browser, link, { viewport: { width: 390, height: 844 } });
    await join(page);
    await says(page, /You are in the call/);
    const wide = await page.evaluate(() => [...document.body.querySelectorAll("*")]
      .filter((element) => element.getBoundingClientRect().right > innerWidth + 0.5).length);
    assert.equal(wide, 0);
    assert.ok(await page.evaluate(() => document.documentElement.scrollHeight <= innerHeight));
    for (const button of await page.getByRole("button").all()) assert.notEqual((await button.innerText()).trim(), "");
    await leave(page);
    await page.context().close();
  },
};

async function overHttps(browser) {
  const port = await freePort();
  const running = await call(`0.0.0.0:${port}`);
  try {
    assert.match(running.link, /^https:/);
    const [, fingerprint] = /SHA-256\).*: ([0-9A-F:]+)$/m.exec(running.said.text);
    const { hostname } = new URL(running.room);
    const shown = await new Promise((done, failed) => {
      const socket = tls.connect({ host: hostname, port, rejectUnauthorized: false }, () => {
        done(socket.getPeerCertificate().fingerprint256);
        socket.destroy();
      });
      socket.on("error", failed);
    });
    assert.equal(shown, fingerprint);
    const page = await person(browser, running.link);
    await join(page);
    await says(page, /You are in the call/);
    await flows(page, running.sample);
    await page.context().close();
    await until("a closed tab has left", 14, () => /the browser has left|waiting for the other end\s*$/.test(running.said.text));
  } finally {
    await running.stop();
  }
}

/** The servers that help through NATs reach the page (RFC 9725 §4.6), and nobody else. */
async function serversAreNamed(browser) {
  const running = await call(`127.0.0.1:${await freePort()}`, "--ice-server", 'turn:me:a"b@127.0.0.1:9', "--ice-server", "stun:127.0.0.1:9");
  try {
    const { room, token } = running;
    assert.equal((await fetch(`${room}/whip`, { method: "OPTIONS" })).headers.get("link"), null);
    const page = await person(browser, running.link);
    await join(page);
    await says(page, /You are in the call/);
    const servers = await page.evaluate(() => window.connections[0].getConfiguration().iceServers);
    const facts = servers.map(({ urls, username, credential }) => [urls, username, credential].flat().filter(Boolean));
    assert.deepEqual(facts, [["turn:127.0.0.1:9?transport=udp", "me", 'a"b'], ["stun:127.0.0.1:9"]]);
    await flows(page, running.sample);
    await leave(page);
    await says(page, /You have left/);
    await page.context().close();
    const answer = await post(room, token);
    assert.match(answer.headers.get("link"), /^<turn:127\.0\.0\.1:9\?transport=udp>; rel="ice-server"; username="me"/);
  } finally {
    await running.stop();
  }
}

const browser = await chromium.launch({ executablePath: BROWSER, args: [...BROWSER_ARGS, ...CAMERA_ARGS] });
let failed = 0;
async function run(name, test) {
  try {
    await test();
    console.log(`ok    ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAIL  ${name}\n${error.stack}`);
  }
}
const running = await call(`127.0.0.1:${await freePort()}`);
for (const [name, test] of Object.entries(tests)) await run(name, () => test(browser, running));
await running.stop();
await run("over HTTPS, with the certificate that was printed", () => overHttps(browser));
await run("servers for NATs are named to the page", () => serversAreNamed(browser));
await browser.close();
process.exitCode = failed === 0 ? 0 : 1;
