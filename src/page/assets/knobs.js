// The sliders that steer the link, and the choices of what the sender does. A slider steps through round values, so that one key press is one
// sensible step anywhere in its range; at most one change is under way, and the newest wins.

import { count, millis, percent, rate, text } from "/format.js";

/** Values of `mantissas` in every decade from `min` to `max`, the ends included. */
function decades(min, max, mantissas) {
  const values = [min];
  for (let decade = 10 ** Math.floor(Math.log10(min)); decade <= max; decade *= 10) {
    values.push(...mantissas.map((mantissa) => Number((mantissa * decade).toPrecision(6))));
  }
  values.push(max);
  return [...new Set(values)].filter((value) => value >= min && value <= max).sort((a, b) => a - b);
}

/** From `min` to `max`, in steps that grow: `[upTo, step]`. */
function stairs(min, max, steps) {
  const values = [];
  let value = min;
  for (const [upTo, step] of steps) {
    for (; value < Math.min(upTo, max); value += step) values.push(value);
  }
  values.push(max);
  return values;
}

const KNOBS = [
  {
    field: "rate_bps", name: "Rate", note: "What the bottleneck carries", show: rate,
    values: ([min, max]) => decades(min, max, [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8]),
  },
  {
    field: "delay_ms", name: "Round trip", note: "There and back, with the queue empty", show: millis,
    values: ([min, max]) => stairs(min, max, [[100, 5], [200, 10], [500, 25], [1000, 50]]),
  },
  {
    field: "queue_ms", name: "Queue", note: "Drop-tail, as time at the link’s rate", show: millis,
    values: ([min, max]) => decades(min, max, [1, 1.5, 2, 3, 5, 7]).map(Math.round),
  },
  {
    field: "loss_pct", name: "Loss", note: "Random, beyond what the queue drops", show: percent,
    values: ([min, max]) => [min, ...decades(0.1, max, [1, 1.5, 2, 3, 5, 7])],
  },
  {
    field: "tcp", name: "TCP flows", note: "Modelled, endless, through the same link", show: (flows) => [count(flows), ""],
    values: ([min, max]) => stairs(min, max, [[max, 1]]), button: { start: "Start TCP", stop: "Stop TCP" },
  },
];

const CHOICES = [
  {
    field: "codec", name: "Codec", note: "The next picture is coded so",
    names: { mjpeg: "Motion JPEG", raw: "Uncompressed", h264: "H.264" },
  },
  {
    field: "policy", name: "Policy", note: "How large a frame may be, and whether it may still go",
    names: { evenkeel: "Evenkeel’s", thesis: "The thesis’s" },
  },
  {
    field: "filler", name: "Filler", note: "What uses the rate that frames leave",
    names: { none: "None", dummy: "Dummy packets", fec: "Repair packets" },
  },
];

/**
 * Builds the sliders for these limits and the selects of these choices in `place`; gives update(knobs),
 * which shows the present link and sender.
 */
export function build(place, error, limits, choices) {
  const controls = [
    ...CHOICES.map((choice) => new Select(choice, choices[choice.field] ?? [], (value) => send(choice.field, value))),
    ...KNOBS.map((knob) => new Slider(knob, limits[knob.field], (value) => send(knob.field, value))),
  ];
  place.replaceChildren(...controls.map((control) => control.element));

  let wanted = {};
  let busy = false;
  async function send(field, value) {
    wanted[field] = value;
    if (busy) return;
    busy = true;
    while (Object.keys(wanted).length > 0) {
      const change = wanted;
      wanted = {};
      const refused = await post(change);
      error.hidden = !refused;
      error.textContent = refused;
    }
    busy = false;
  }

  return (knobs) => {
    if (!busy) controls.forEach((control) => control.update(knobs[control.field]));
  };
}

/** Posts a change; gives the reason when it was refused, else nothing. */
async function post(change) {
  try {
    const response = await fetch("/api/link", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(change),
    });
    return response.ok ? "" : (await response.text()).trim();
  } catch {
    return "The change did not reach the program.";
  }
}

/** After a move, samples from before it must not pull the control back. */
const SETTLE_MS = 600;

class Select {
  constructor(choice, values, chosen) {
    this.field = choice.field;
    this.movedAt = -Infinity;
    const id = `knob-${choice.field}`;
    const label = Object.assign(document.createElement("label"), { htmlFor: id, textContent: choice.name });
    this.input = Object.assign(document.createElement("select"), { id, disabled: true });
    this.input.append(...values.map((value) => new Option(choice.names[value] ?? value, value)));
    const note = Object.assign(document.createElement("small"), { id: `${id}-note`, textContent: choice.note });
    this.input.setAttribute("aria-describedby", note.id);
    this.input.addEventListener("change", () => {
      this.movedAt = performance.now();
      chosen(this.input.value);
    });
    this.element = document.createElement("div");
    this.element.className = "knob";
    this.element.append(label, this.input, note);
  }

  /** What is chosen at present, here or on another page. */
  update(value) {
    this.input.disabled = value === null;
    if (value === null || performance.now() - this.movedAt < SETTLE_MS) return;
    if (this.input.value !== value) this.input.value = value;
  }
}

class Slider {
  constructor(knob, limit, moved) {
    this.field = knob.field;
    this.show = knob.show;
    this.values = knob.values(limit).filter((value, index, all) => all.indexOf(value) === index);
    this.movedAt = -Infinity;
    const id = `knob-${knob.field}`;
    const label = Object.assign(document.createElement("label"), { htmlFor: id, textContent: knob.name });
    this.output = document.createElement("output");
    this.output.htmlFor = id;
    this.input = Object.assign(document.createElement("input"), {
      type: "range", id, min: 0, max: this.values.length - 1, step: 1, disabled: true,
    });
    const note = Object.assign(document.createElement("small"), { id: `${id}-note`, textContent: knob.note });
    this.input.setAttribute("aria-describedby", note.id);
    const set = (value) => {
      this.movedAt = performance.now();
      this.display(value);
      moved(value);
    };
    this.input.addEventListener("input", () => set(this.values[this.input.valueAsNumber]));
    this.element = document.createElement("div");
    this.element.className = "knob";
    this.element.append(label, this.output, this.input, note);
    if (knob.button) {
      this.button = new StartStop(knob.button, this.values, (value) => {
        this.place(value);
        set(value);
      });
      this.element.append(this.button.element);
    }
  }

  /** The link's present value; the slider stands at the nearest round one. */
  update(value) {
    this.input.disabled = value === null;
    if (this.button) this.button.element.disabled = value === null;
    if (value === null || performance.now() - this.movedAt < SETTLE_MS) return;
    this.place(value);
    this.display(value);
  }

  place(value) {
    const distance = (index) => Math.abs(this.values[index] - value);
    const nearest = this.values.reduce((best, _, index) => (distance(index) < distance(best) ? index : best), 0);
    if (this.input.valueAsNumber !== nearest) this.input.value = nearest;
  }

  display(value) {
    this.button?.display(value);
    const shown = text(this.show(value));
    if (this.output.textContent === shown) return;
    this.output.textContent = shown;
    this.input.setAttribute("aria-valuetext", shown);
  }
}

/** A button that goes from the least of a slider's values to the last one that was above it, and back. */
class StartStop {
  constructor({ start, stop }, [least, next], chosen) {
    this.names = { start, stop };
    this.least = least;
    this.value = least;
    this.last = next;
    this.element = Object.assign(document.createElement("button"), { type: "button", disabled: true, textContent: start });
    this.element.addEventListener("click", () => chosen(this.value === least ? this.last : least));
  }

  display(value) {
    this.value = value;
    if (value !== this.least) this.last = value;
    this.element.textContent = value === this.least ? this.names.start : this.names.stop;
  }
}
