// The stream of samples: comes back by itself, and lets go while nobody looks at the page, because a
// browser has few connections to one server and the program few pictures to waste.

const RETRY_MS = 1000;
const SILENCE_MS = 3000;

/**
 * Follows the program. `on` has info(info), history(samples), sample(sample), away(why) and back();
 * `away` is called with "lost" (no connection) or "silent" (no sample for a while).
 */
export function follow(on) {
  let source = null;
  let retry = 0;
  let heard = performance.now();
  let state = "";

  const become = (next) => {
    if (next === state) return;
    state = next;
    if (next === "live") on.back();
    else on.away(next);
  };

  const close = () => {
    clearTimeout(retry);
    source?.close();
    source = null;
  };

  const open = () => {
    close();
    source = new EventSource("/api/events");
    source.addEventListener("info", (event) => on.info(JSON.parse(event.data)));
    source.addEventListener("history", (event) => {
      heard = performance.now();
      on.history(JSON.parse(event.data));
      become("live");
    });
    source.addEventListener("message", (event) => {
      heard = performance.now();
      on.sample(JSON.parse(event.data));
      become("live");
    });
    source.addEventListener("error", () => {
      // Browsers differ in how long, and whether, they try again: this is the same in all.
      close();
      become("lost");
      retry = setTimeout(open, RETRY_MS);
    });
  };

  setInterval(() => {
    if (source && state === "live" && performance.now() - heard > SILENCE_MS) become("silent");
  }, 500);

  document.addEventListener("visibilitychange", () => {
    if (document.hidden) {
      close();
      become("hidden");
    } else if (!source) {
      open();
    }
  });
  open();
}
