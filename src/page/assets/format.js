// Numbers as people read them: [digits, unit], with "–" for what does not exist at this end.

const NONE = ["–", ""];

const exists = (value) => typeof value === "number" && Number.isFinite(value);

/** Three significant digits, never in exponent form. */
function digits(value) {
  const size = Math.abs(value);
  return value.toFixed(size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
}

/** Bits a second. */
export function rate(bps) {
  if (!exists(bps)) return NONE;
  return bps >= 999_500 ? [digits(bps / 1e6), "Mb/s"] : [String(Math.round(bps / 1e3)), "kb/s"];
}

/** Milliseconds. */
export function millis(ms) {
  return exists(ms) ? [String(Math.round(ms)), "ms"] : NONE;
}

/** A loss event rate, also as one loss event in so many packets. */
export function probability(p) {
  if (!exists(p)) return NONE;
  if (p === 0) return ["0", "no loss event yet"];
  const places = Math.min(6, Math.max(0, 1 - Math.floor(Math.log10(p))));
  return [p.toFixed(places), `1 in ${count(Math.round(1 / p))} packets`];
}

/** Bytes. */
export function bytes(size) {
  if (!exists(size)) return NONE;
  return size >= 1000 ? [digits(size / 1e3), "kB"] : [String(Math.round(size)), "B"];
}

/** Percent. */
export function percent(value) {
  return exists(value) ? [value > 0 && value < 9.95 ? value.toFixed(1) : String(Math.round(value)), "%"] : NONE;
}

/** A whole number with thin spaces between thousands. */
export function count(value) {
  return exists(value) ? String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, "\u202f") : "–";
}

/** [digits, unit] as one text with a no-break space. */
export const text = ([value, unit]) => (unit ? `${value}\u00a0${unit}` : value);

/** A counter's key as words. */
export const words = (key) => key.replaceAll("_", " ");
