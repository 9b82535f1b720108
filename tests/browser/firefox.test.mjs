// A call with Firefox: `node firefox.test.mjs`. EVENKEEL as in page.test.mjs, FIREFOX is /usr/bin/firefox-esr unless given. Firefox
// downloads its H.264 from the Internet; without it the test is of what the page and the server then say.

import assert from "node:assert/strict";
import puppeteer from "puppeteer-core";
import { call, freePort, record, until } from "./common.mjs";

const running = await call(`127.0.0.1:${await freePort()}`);
const browser = await puppeteer.launch({
  browser: "firefox",
  executablePath: process.env.FIREFOX ?? "/usr/bin/firefox-esr",
  extraPrefsFirefox: {
    "media.navigator.streams.fake": true,
    "media.navigator.permission.disabled": true,
    "media.peerconnection.ice.loopback": true,
  },
});
try {
  const version = await browser.version();
  const page = await browser.newPage();
  await page.goto(running.link);
  const hasH264 = await page.evaluate(() => {
    const Connection = RTCPeerConnection;
    window.RTCPeerConnection = class extends Connection {
      constructor(...args) { super(...args); window.connection = this; }
    };
    return RTCRtpReceiver.getCapabilities("video").codecs.some(({ mimeType }) => mimeType.toLowerCase() === "video/h264");
  });
  const words = () => page.$eval("#words", (element) => element.textContent);
  await page.click("#join");
  if (hasH264) {
    await until("the browser is in the call", 15, async () => /You are in the call/.test(await words()));
    const frames = () => page.evaluate(async () => {
      const found = { encoded: 0, decoded: 0 };
      for (const report of (await window.connection.getStats()).values()) {
        if (report.type === "outbound-rtp") found.encoded += report.framesEncoded;
        if (report.type === "inbound-rtp") found.decoded += report.framesDecoded;
      }
      return found;
    });
    const { frames_shown: shown } = await running.sample();
    await until("pictures change both ways", 20, async () => {
      const { encoded, decoded } = await frames();
      return encoded > 20 && decoded > 20 && (await running.sample()).frames_shown > shown + 20;
    });
    const { encoded, decoded } = await frames();
    record({ peer: version, kind: "browser", direction: "both", codec: "H.264", feedback: "transport-wide",
      figures: `${decoded} pictures decoded, ${encoded} encoded, on loopback` });
  } else {
    await until("the page says what is missing", 15, async () => /has no H\.264.*OpenH264/.test(await words()));
    const [status, text] = await page.evaluate(async (room, token) => {
      const connection = new RTCPeerConnection();
      connection.addTransceiver("video");
      await connection.setLocalDescription();
      const headers = { "content-type": "application/sdp", authorization: `Bearer ${token}` };
      const answer = await fetch(`${room}/whip`, { method: "POST", headers, body: connection.localDescription.sdp });
      return [answer.status, await answer.text()];
    }, running.room, running.token);
    assert.equal(status, 406, text);
    assert.match(text, /VP8.*offer H264/);
    record({ peer: version, kind: "browser", direction: "none", codec: "no H.264", feedback: "", figures: "the page and the server say so" });
  }
  console.log(`ok    ${version} ${hasH264 ? "is in the call" : "has no H.264, and is told so"}`);
} finally {
  await browser.close();
  await running.stop();
}
