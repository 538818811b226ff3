/**
 * Loaded into the daemon before anything else (`--import`): shifts its wall clock by the milliseconds that the file
 * $WEIR_CHAOS_CLOCK names, read again at SIGUSR2. Timers and `performance.now` go on as they are, as in a real jump of a clock.
 */
import { readFileSync } from "node:fs";
import process from "node:process";

let offsetMs = readOffset();

function readOffset(): number {
  const file = process.env["WEIR_CHAOS_CLOCK"];
  if (file === undefined) return 0;
  try {
    return Number(readFileSync(file, "utf8")) || 0;
  } catch {
    // Nobody has shifted it yet.
    return 0;
  }
}

process.on("SIGUSR2", () => {
  offsetMs = readOffset();
});

globalThis.Date = new Proxy(Date, {
  construct: (target, values: unknown[], made): object =>
    // oxlint-disable-next-line no-unsafe-type-assertion -- the constructor makes nothing but objects
    Reflect.construct(target, values.length === 0 ? [target.now() + offsetMs] : values, made) as object,
  get: (target, key, receiver): unknown =>
    key === "now" ? () => target.now() + offsetMs : Reflect.get(target, key, receiver),
});
