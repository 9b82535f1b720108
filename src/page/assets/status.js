// The state of a run in one sentence, for someone who has never heard of congestion control.

import { millis, rate, text } from "/format.js";

/** The time over which frames are counted, in seconds. */
const WINDOW_S = 5;
/** The time over which rates are compared, in seconds: one second of TCP is no more than a half of its sawtooth. */
const SHARE_WINDOW_S = 15;
/** The share of frames that may be missing or broken before a viewer is told. */
const TOLERATED_SHARE = 0.05;
/** Flows within this factor of each other's rate are fair (RFC 5348 §1). */
const FAIR_FACTOR = 2;

/** `[kind, sentence]` of the newest of `samples`; the kinds are good, warn and bad. */
export function status(samples, info) {
  const now = samples.at(-1);
  const trouble = endOf(now.state) ?? picturesOf(samples, info) ?? fairnessOf(samples);
  const [kind, verdict] = trouble ?? ["good", "Good"];
  const facts = factsOf(samples);
  return [kind, facts.length > 0 ? `${verdict}: ${facts.join(", ")}` : verdict];
}

/** Throughput in units of one TCP flow's over the last seconds; null unless TCP has run beside the call for long enough. */
function shareOfTcp(samples) {
  const now = samples.at(-1);
  let [call, tcp, since] = [0, 0, null];
  for (const sample of samples) {
    if (sample.t_s < now.t_s - SHARE_WINDOW_S || !(sample.tcp_bps > 0)) continue;
    since ??= sample.t_s;
    call += sample.throughput_bps;
    tcp += sample.tcp_bps;
  }
  return now.tcp_bps > 0 && now.t_s - since >= SHARE_WINDOW_S / 2 ? call / tcp : null;
}

/** Bits a second that each flow of the link would have if all had the same. */
export function fairShare(sample) {
  return sample.link_bps && sample.knobs.tcp > 0 ? sample.link_bps / (sample.knobs.tcp + 1) : null;
}

function endOf(state) {
  return {
    nofeedback: ["warn", "The other end does not answer"],
    "peer gone": ["bad", "The other end has left"],
    "given up": ["bad", "Sending has stopped, because the other end does not answer"],
  }[state];
}

function picturesOf(samples, info) {
  const now = samples.at(-1);
  const since = samples.findLast((sample) => sample.t_s <= now.t_s - WINDOW_S) ?? samples[0];
  const grown = (key) => (now[key] ?? 0) - (since[key] ?? 0);
  const [sent, shown] = [grown("frames_sent"), grown("frames_shown")];
  if (now.frames_shown !== null) {
    if (!now.frames_shown) return ["warn", now.throughput_bps > 0 && info.mode === "recv" ? "No picture yet" : "Waiting for the other end"];
    if (shown === 0 && now.t_s - since.t_s > 1) return ["bad", "The picture stands still"];
    const [broken, arrived] = [grown("frames_concealed") + grown("frames_frozen"), shown + grown("frames_frozen")];
    if (broken > TOLERATED_SHARE * arrived) return ["warn", `${share(broken, arrived)} of the frames are broken`];
    if (now.deadline_ms !== null && now.frame_delay_p95_ms > now.deadline_ms) return ["warn", "Late"];
  } else if (!now.frames_sent || now.state === "waiting") {
    return ["warn", "Waiting for the other end"];
  }
  const discarded = grown("frames_discarded");
  if (discarded > TOLERATED_SHARE * (sent + discarded)) return ["warn", `${share(discarded, sent + discarded)} of the frames do not fit`];
  return undefined;
}

function fairnessOf(samples) {
  const ratio = shareOfTcp(samples);
  if (ratio === null || ratio <= FAIR_FACTOR) return undefined;
  return ["warn", "More than a fair share"];
}

function factsOf(samples) {
  const sample = samples.at(-1);
  const facts = [];
  if (Number.isFinite(sample.frame_delay_p95_ms)) facts.push(text(millis(sample.frame_delay_p95_ms)));
  const link = sample.link_bps ? ` of a ${text(rate(sample.link_bps))} link` : "";
  if (sample.throughput_bps > 0) facts.push(text(rate(sample.throughput_bps)) + link);
  const ratio = shareOfTcp(samples);
  if (ratio !== null) {
    const fair = ratio <= FAIR_FACTOR && ratio >= 1 / FAIR_FACTOR ? ", a fair share" : "";
    facts.push(`${ratio.toFixed(2)} times what each TCP flow has${fair}`);
  }
  return facts;
}

const share = (part, whole) => `${Math.round((100 * part) / Math.max(1, whole))}\u00a0%`;
