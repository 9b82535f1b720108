// What the tests in a browser share: the program, the browser, free ports and waiting.

import assert from "node:assert/strict";
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
