// What the tests in a browser share: the program, the browser, free ports and waiting.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import net from "node:net";
import path from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
export const PROGRAM = process.env.EVENKEEL ?? path.join(ROOT, "target/release/evenkeel");
export const BROWSER = process.env.CHROMIUM ?? "/usr/bin/chromium";
export const BROWSER_ARGS = [
  "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync", "--no-first-run",
  "--disable-component-update", "--disable-quic",
];
export const CAMERA_ARGS = [
  "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream", "--allow-loopback-in-peer-connection",
];

export async function freePort() {
  const server = net.createServer().listen(0, "127.0.0.1");
  await new Promise((done) => server.once("listening", done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}

/** Asks again until it is so; what it waits for is in the failure. */
export async function until(what, seconds, so) {
  const end = performance.now() + seconds * 1000;
  for (;;) {
    if (await so()) return;
    assert.ok(performance.now() < end, `not within ${seconds} s: ${what}`);
    await new Promise((done) => setTimeout(done, 100));
  }
}

/** Starts a call for browsers; its link, the address of its live page, and what it said. */
export async function call(address, ...more) {
  const port = await freePort();
  const args = ["call", "--web", address, "--page", `127.0.0.1:${port}`, "--source", "scene", "--seconds", "170", ...more];
  const program = spawn(PROGRAM, args, { stdio: ["ignore", "pipe", "inherit"] });
  const said = { text: "" };
  program.stdout.on("data", (chunk) => { said.text += chunk; });
  const link = () => /^(https?:\/\/\S+)#(\w+)$/m.exec(said.text);
  await until("all addresses are printed", 15, () => link() !== null && said.text.includes("bearer token"));
  const [, room, token] = link();
  const sample = async () => (await fetch(`http://127.0.0.1:${port}/api/sample`)).json();
  const stop = () => new Promise((done) => { program.once("exit", done); program.kill("SIGINT"); });
  return { room, token, link: `${room}#${token}`, said, sample, stop };
}

/** Leaves a row of the table of peers (docs/INTEROP.md), if it is asked for. */
export function record(row) {
  const folder = process.env.EVENKEEL_INTEROP;
  if (folder) writeFileSync(path.join(folder, `${row.peer} ${row.direction}.json`.replaceAll("/", "-")), JSON.stringify(row));
}
