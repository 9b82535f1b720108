// Joins the call: camera, one connection with video both ways, and the signalling of WHIP.

const $ = (id) => document.getElementById(id);

/** The bearer token, which a browser never sends with an address. */
const token = location.hash.slice(1);
const room = location.pathname.replace(/\/$/, "");

/** What one press of Join began; null while nobody is in the call. */
let attempt = null;

const CAMERA = { video: { width: { ideal: 640 }, height: { ideal: 480 }, frameRate: { ideal: 30 } }, audio: false };
/** The most that the camera may take of the network, in bit/s: without it Chromium stops at 1.7 Mb/s, whatever the network carries. */
const MAX_BITRATE = 8e6;
/** How long a connection may be interrupted before this end leaves, in milliseconds. */
const INTERRUPTION_TIMEOUT_MS = 30_000;

function say(text, isWrong = false) {
  $("words").textContent = text;
  $("words").classList.toggle("wrong", isWrong);
}

/** An error whose message is for the person at this end. */
class Failure extends Error {}

function cameraFailure(error) {
  switch (error.name) {
    case "NotAllowedError":
      return new Failure("The camera is not allowed. Allow it beside the address of this page, and press Join again.");
    case "NotFoundError":
    case "OverconstrainedError":
      return new Failure("No camera was found. Connect one, and press Join again.");
    case "NotReadableError":
    case "AbortError":
      return new Failure("The camera does not start: another program may use it. Close that program, and press Join again.");
    default:
      return new Failure(`The camera does not start (${error.name}).`);
  }
}

function ask(path, method, headers = {}, body = undefined, keepalive = false) {
  return fetch(path, { method, headers: { authorization: `Bearer ${token}`, ...headers }, body, keepalive })
    .catch(() => { throw new Failure("The other end does not answer. Check that the call still runs there, and your network."); });
}

async function refusal(answer) {
  if (answer.status === 401) return new Failure("This link is wrong or too old. Ask the other end for the present one.");
  if (answer.status === 409) return new Failure("Somebody else is in this call. Try again once they have left.");
  const text = (await answer.text()).trim();
  return new Failure(`The other end refuses the call: ${text}`);
}

/** Puts H.264 first, the only codec of the other end. */
function preferH264(transceiver) {
  const codecs = RTCRtpReceiver.getCapabilities?.("video")?.codecs ?? [];
  const isH264 = ({ mimeType }) => mimeType.toLowerCase() === "video/h264";
  if (codecs.length > 0 && !codecs.some(isH264)) {
    const remedy = navigator.userAgent.includes("Firefox")
      ? "Firefox downloads it (OpenH264, listed in about:addons under Plugins) soon after its first start. Wait for it, and press Join again, or try another browser."
      : "Try another browser.";
    throw new Failure(`This browser has no H.264, which the call needs. ${remedy}`);
  }
  transceiver.setCodecPreferences?.([...codecs.filter(isH264), ...codecs.filter((codec) => !isH264(codec))]);
}

/** Sends the addresses that are found after the offer. */
async function trickle(mine, candidate) {
  if (mine.session === null) {
    mine.candidates.push(candidate);
    return;
  }
  const { ufrag, pwd } = mine;
  const lines = [`a=ice-ufrag:${ufrag}`, `a=ice-pwd:${pwd}`, "m=video 9 UDP/TLS/RTP/SAVPF 0", "a=mid:0", `a=${candidate}`, ""];
  const headers = { "content-type": "application/trickle-ice-sdpfrag", "if-match": mine.etag };
  // A call goes on without an address that did not arrive.
  await ask(mine.session, "PATCH", headers, lines.join("\r\n")).catch(() => {});
}

function watch(mine) {
  const { connection } = mine;
  connection.ontrack = ({ track, streams }) => { $("peer").srcObject = streams[0] ?? new MediaStream([track]); };
  connection.onicecandidate = ({ candidate }) => {
    if (candidate?.candidate) trickle(mine, candidate.candidate);
  };
  connection.onconnectionstatechange = () => {
    clearTimeout(mine.timer);
    switch (connection.connectionState) {
      case "connected":
        say("You are in the call. The connection is encrypted.");
        break;
      case "disconnected":
        say("The connection is interrupted. Waiting for the other end …");
        mine.timer = setTimeout(() => end(mine, "The other end has gone, or your network is interrupted.", true), INTERRUPTION_TIMEOUT_MS);
        break;
      case "failed":
        end(mine, "No way to the other end was found. Both must be in one network, or UDP must pass between them.", true);
        break;
    }
  };
}

/** The servers that help through NATs, by the links of the other end (RFC 9725 §4.6). */
async function iceServers() {
  const links = (await ask(`${room}/whip`, "OPTIONS")).headers.get("link") ?? "";
  const parameter = (text, name) => new RegExp(`; ${name}="((?:[^"\\\\]|\\\\.)*)"`).exec(text)?.[1].replace(/\\(.)/g, "$1");
  return [...links.matchAll(/<([^>]*)>((?:; [\w-]+="(?:[^"\\]|\\.)*")*)/g)].map(([, urls, parameters]) => ({
    urls, username: parameter(parameters, "username"), credential: parameter(parameters, "credential"),
  }));
}

async function join() {
  const mine = { stream: null, connection: null, session: null, etag: null, candidates: [], timer: 0, ufrag: "", pwd: "" };
  attempt = mine;
  $("join").disabled = true;
  $("leave").disabled = false;
  try {
    if (!navigator.mediaDevices?.getUserMedia) {
      throw new Failure("This page has no camera, because its address is not secure. Open the https address of the call.");
    }
    say("Your browser asks for the camera. Allow it to join.");
    mine.stream = await navigator.mediaDevices.getUserMedia(CAMERA).catch((error) => { throw cameraFailure(error); });
    // Leave may have been pressed at the question, which cannot be withdrawn.
    if (attempt !== mine) return release(mine);
    const [track] = mine.stream.getVideoTracks();
    track.onended = () => end(mine, "The camera was disconnected.", true);
    $("own").srcObject = mine.stream;
    $("own").hidden = false;
    say("Joining …");
    const servers = await iceServers();
    if (attempt !== mine) return release(mine);
    mine.connection = new RTCPeerConnection({ bundlePolicy: "max-bundle", iceServers: servers });
    watch(mine);
    preferH264(mine.connection.addTransceiver(track, {
      direction: "sendrecv", streams: [mine.stream], sendEncodings: [{ maxBitrate: MAX_BITRATE }],
    }));
    await mine.connection.setLocalDescription();
    const { sdp } = mine.connection.localDescription;
    mine.ufrag = /^a=ice-ufrag:(.*?)\r?$/m.exec(sdp)?.[1] ?? "";
    mine.pwd = /^a=ice-pwd:(.*?)\r?$/m.exec(sdp)?.[1] ?? "";
    const answer = await ask(`${room}/whip`, "POST", { "content-type": "application/sdp" }, sdp);
    if (answer.status !== 201) throw await refusal(answer);
    mine.session = answer.headers.get("location");
    mine.etag = answer.headers.get("etag");
    const text = await answer.text();
    if (attempt !== mine) return release(mine);
    await mine.connection.setRemoteDescription({ type: "answer", sdp: text });
    // The connection itself says nothing of a goodbye (close_notify).
    const { transport } = mine.connection.getSenders()[0];
    transport.onstatechange = () => transport.state === "closed" && end(mine, "The other end has ended the call.");
    for (const candidate of mine.candidates.splice(0)) trickle(mine, candidate);
  } catch (error) {
    const text = error instanceof Failure ? error.message : `This browser cannot join: ${error.message}`;
    if (attempt === mine) end(mine, text, true);
    else release(mine);
  }
}

/** Stops the camera, the connection and the session of an attempt. */
function release(mine) {
  clearTimeout(mine.timer);
  mine.stream?.getTracks().forEach((track) => { track.onended = null; track.stop(); });
  if (mine.connection !== null) {
    mine.connection.onconnectionstatechange = null;
    mine.connection.onicecandidate = null;
    mine.connection.close();
  }
  const { session } = mine;
  mine.session = null;
  // The other end notices by itself if this does not arrive.
  if (session !== null) ask(session, "DELETE", {}, undefined, true).catch(() => {});
}

function end(mine, text, isWrong = false) {
  if (attempt !== mine) return;
  attempt = null;
  release(mine);
  $("own").hidden = true;
  $("own").srcObject = null;
  $("peer").srcObject = null;
  $("join").disabled = false;
  $("leave").disabled = true;
  say(text, isWrong);
}

$("join").onclick = () => join();
$("leave").onclick = () => end(attempt, "You have left the call. The camera is off.");
addEventListener("pagehide", () => attempt && end(attempt, "You have left the call. The camera is off."));
if (token === "") {
  $("join").disabled = true;
  say("This link is not whole: open all of it, with the part after #.", true);
}
