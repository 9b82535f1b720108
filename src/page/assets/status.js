// The state of a run in one sentence, for someone who has never heard of congestion control.

import { millis, rate, text } from "/format.js";

/** The time over which frames are counted, in seconds. */
const WINDOW_S = 5;
/** The time after a change of the TCP flows that no share is taken over, in seconds: the new ones begin in slow start. */
const SETTLING_S = 10;
/**
 * The least time that a share is taken over, in seconds. RFC 5348 §1 means rates in the long run, so the whole last minute
 * counts: over a few seconds the rates of two flows that share a link alike often differ by that factor.
 */
const SHARE_LEAST_S = 10;
/** The share of frames that may be missing or broken before a viewer is told. */
const TOLERATED_SHARE = 0.05;
/** An allowed rate this close to `--max-rate` is held there by it. */
const CAPPED_SHARE = 0.99;
/** Flows within this factor of each other's rate are fair (RFC 5348 §1). */
const FAIR_FACTOR = 2;

/** `[kind, sentence]` of the newest of `samples`; the kinds are good, warn and bad. */
export function status(samples, info) {
  const now = samples.at(-1);
  const trouble = endOf(now.state) ?? picturesOf(samples, info) ?? fairnessOf(samples);
  const [kind, verdict] = trouble ?? ["good", "Good"];
  const facts = factsOf(samples, info);
  return [kind, facts.length > 0 ? `${verdict}: ${facts.join(", ")}` : verdict];
}

/** Throughput in units of one TCP flow's in the last minute; null unless as many flows have run for long enough. */
function shareOfTcp(samples) {
  const now = samples.at(-1);
  const changed = samples.findLast((sample) => sample.knobs.tcp !== now.knobs.tcp)?.t_s ?? 0;
  const settled = samples.filter((sample) => sample.t_s >= changed + SETTLING_S && sample.tcp_bps > 0);
  if (!(now.tcp_bps > 0) || settled.length === 0 || now.t_s - settled[0].t_s < SHARE_LEAST_S) return null;
  const sum = (key) => settled.reduce((total, sample) => total + sample[key], 0);
  return sum("throughput_bps") / sum("tcp_bps");
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
  const missed = grown("frames_missed");
  if (missed > TOLERATED_SHARE * (sent + missed)) return ["warn", `Source or encoder is too slow for ${share(missed, sent + missed)} of the frames`];
  const discarded = grown("frames_discarded");
  if (discarded > TOLERATED_SHARE * (sent + discarded)) return ["warn", `${share(discarded, sent + discarded)} of the frames are discarded: the rate is too low`];
  return undefined;
}

function fairnessOf(samples) {
  const ratio = shareOfTcp(samples);
  if (ratio === null || ratio <= FAIR_FACTOR) return undefined;
  return ["warn", "More than a fair share"];
}

/** Whether `--max-rate` holds the rate down, and not the path. */
export const isCapped = (sample, info) => info.max_rate_bps > 0 && sample.x_bps >= CAPPED_SHARE * info.max_rate_bps;

function factsOf(samples, info) {
  const sample = samples.at(-1);
  const facts = [];
  if (Number.isFinite(sample.frame_delay_p95_ms)) facts.push(text(millis(sample.frame_delay_p95_ms)));
  const link = sample.link_bps ? ` of a ${text(rate(sample.link_bps))} link` : "";
  if (sample.throughput_bps > 0) facts.push(text(rate(sample.throughput_bps)) + link);
  if (isCapped(sample, info)) facts.push(`limited to ${text(rate(info.max_rate_bps))} by --max-rate`);
  const ratio = shareOfTcp(samples);
  if (ratio !== null) {
    const fair = ratio <= FAIR_FACTOR && ratio >= 1 / FAIR_FACTOR ? ", a fair share" : "";
    facts.push(`${ratio.toFixed(2)} times what each TCP flow has${fair}`);
  }
  return facts;
}

const share = (part, whole) => `${Math.round((100 * part) / Math.max(1, whole))}\u00a0%`;
