/**
 * Replaces time, chance and file calls of Node, for all modules of this process. Import it before any other module. Nothing changes until
 * a simulation is in force ({@link enter}); from then on a timer fires when the simulation comes to it, chance follows from a seed, and
 * calls of files are made one after the other. `syncBuiltinESMExports` hands the replacements on to names that were imported before.
 */
import { createRequire, syncBuiltinESMExports } from "node:module";
import type { Random } from "../random.ts";
import { type VirtualTime, VirtualTimer } from "./virtual-time.ts";

const require = createRequire(import.meta.url);
/** CommonJS has modules whose members can be replaced. */
const load = (name: string): Record<string, unknown> => require(name);
const timers = load("node:timers");
const delays = load("node:timers/promises");
const files = load("node:fs/promises");
const chance = load("node:crypto");

/** What was there before, for those who drive a simulation. */
export const real = {
  setTimeout: globalThis.setTimeout,
  setImmediate: globalThis.setImmediate,
  clearTimeout: globalThis.clearTimeout,
  now: performance.now.bind(performance),
};

interface World {
  readonly time: VirtualTime;
  readonly random: Random;
}

let world: World | null = null;
/** Immediates and file calls that are under way. */
let pending = 0;
let lastFile: Promise<unknown> = Promise.resolve();
/** Real ones of a simulation that is over do not count for the next. */
let generation = 0;

export function enter(entered: World): void {
  world = entered;
  pending = 0;
  generation++;
}

export function leave(): void {
  world = null;
}

/** Resolves when nothing of the program can go on by itself: all waits for a timer, or for what the simulation holds back. */
export async function atRest(): Promise<void> {
  await turn();
  while (isPending()) await turn();
  await turn();
}

async function turn(): Promise<void> {
  await new Promise<void>((resolve) => void real.setImmediate(resolve));
}

function isPending(): boolean {
  return pending > 0;
}

function replace(target: object, members: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(members))
    Object.defineProperty(target, name, { value, configurable: true, writable: true });
}

type Callback = (...args: unknown[]) => void;

function timerSetter(set: (call: Callback, ms?: number, ...args: unknown[]) => unknown, repeats: boolean) {
  return (call: Callback, ms?: number, ...args: unknown[]): unknown => {
    if (world === null) return set(call, ms, ...args);
    return new VirtualTimer(world.time, () => call(...args), Math.max(1, ms ?? 1), repeats);
  };
}

function clear(timer: unknown): void {
  if (timer instanceof VirtualTimer) timer.close();
  // oxlint-disable-next-line no-unsafe-type-assertion -- whatever it is, Node takes it
  else real.clearTimeout(timer as NodeJS.Timeout);
}

/** Counted until it is over. */
async function counted<Result>(work: () => Promise<Result>): Promise<Result> {
  const own = generation;
  pending++;
  try {
    return await work();
  } finally {
    if (own === generation) pending--;
  }
}

function laterImmediate(call: Callback, ...args: unknown[]): unknown {
  if (world === null) return real.setImmediate(call, ...args);
  const own = generation;
  pending++;
  return real.setImmediate(() => {
    if (own === generation) pending--;
    call(...args);
  });
}

function abortError(signal: AbortSignal): Error {
  const error = new Error("The operation was aborted", { cause: signal.reason });
  return Object.assign(error, { name: "AbortError", code: "ABORT_ERR" });
}

interface DelayOptions {
  readonly signal?: AbortSignal | undefined;
}

function delayer(plain: unknown) {
  return async (ms?: number, value?: unknown, options: DelayOptions = {}): Promise<unknown> => {
    if (world === null) return callPlain(plain, ms, value, options);
    const { time } = world;
    const { signal } = options;
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(abortError(signal));
      const abort = (): void => {
        timer.close();
        reject(abortError(signal ?? AbortSignal.abort()));
      };
      const end = (): void => {
        signal?.removeEventListener("abort", abort);
        resolve(value);
      };
      const timer = new VirtualTimer(time, end, Math.max(1, ms ?? 1), false);
      signal?.addEventListener("abort", abort, { once: true });
    });
  };
}

function immediateDelay(plain: unknown) {
  return async (value?: unknown, options?: unknown): Promise<unknown> =>
    world === null ? callPlain(plain, value, options) : counted(async () => callPlain(plain, value, options));
}

function callPlain(plain: unknown, ...args: unknown[]): unknown {
  if (typeof plain !== "function") throw new TypeError("not a function of Node's");
  return Reflect.apply(plain, undefined, args);
}

/** One file call after the other: which of two would come first is chance. */
function inTurn(plain: Function) {
  return function after(this: unknown, ...args: unknown[]): unknown {
    if (world === null) return Reflect.apply(plain, this, args);
    return counted(async () => {
      const before = lastFile;
      const own = before.then(async () => closedInTurn(await Reflect.apply(plain, this, args)));
      lastFile = own.catch(() => undefined);
      return own;
    });
  };
}

/** A file's handle closes by a function of its own, which no prototype has. */
function closedInTurn(result: unknown): unknown {
  const close: unknown = typeof result === "object" && result !== null ? Reflect.get(result, "close") : null;
  if (typeof result === "object" && typeof close === "function")
    replace(result ?? {}, { close: inTurn(close) });
  return result;
}

function replaceTimers(): void {
  const set = timerSetter(real.setTimeout, false);
  const repeat = timerSetter(globalThis.setInterval, true);
  const all = {
    setTimeout: set,
    setInterval: repeat,
    setImmediate: laterImmediate,
    clearTimeout: clear,
    clearInterval: clear,
  };
  const { setTimeout: wait, setImmediate: immediate } = delays;
  replace(delays, { setTimeout: delayer(wait), setImmediate: immediateDelay(immediate) });
  replace(globalThis, all);
  replace(timers, all);
  const timeout = AbortSignal.timeout.bind(AbortSignal);
  replace(AbortSignal, {
    timeout: (ms: number): AbortSignal => {
      if (world === null) return timeout(ms);
      const controller = new AbortController();
      const reason = new DOMException("The operation was aborted due to timeout", "TimeoutError");
      const timer = new VirtualTimer(world.time, () => controller.abort(reason), ms, false);
      timer.unref();
      return controller.signal;
    },
  });
}

function replaceClocks(): void {
  const { Date: RealDate } = globalThis;
  const now = RealDate.now.bind(RealDate);
  const { timeOrigin } = performance;
  const wallNow = (): number => (world === null ? now() : Math.floor(world.time.wall()));
  replace(RealDate, { now: wallNow });
  replace(globalThis, {
    Date: new Proxy(RealDate, {
      construct: (target, args, made) =>
        Reflect.construct(target, args.length > 0 ? args : [wallNow()], made),
    }),
  });
  replace(performance, { now: () => (world === null ? real.now() : world.time.now) });
  Object.defineProperty(performance, "timeOrigin", {
    get: () => (world === null ? timeOrigin : world.time.wall() - world.time.now),
    configurable: true,
  });
}

function replaceChance(): void {
  const random = Math.random.bind(Math);
  const next = (): number => (world === null ? random() : world.random.next());
  replace(Math, { random: next });
  const { randomUUID, randomBytes, randomInt } = chance;
  const bytes = (size: number): Buffer =>
    Buffer.from(Array.from({ length: size }, () => Math.floor(next() * 256)));
  const uuid = (): string => {
    const hex = bytes(16).toString("hex");
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
  };
  replace(chance, {
    randomUUID: (...args: unknown[]) => (world === null ? callPlain(randomUUID, ...args) : uuid()),
    randomBytes: (size: number, ...args: unknown[]) =>
      world === null || args.length > 0 ? callPlain(randomBytes, size, ...args) : bytes(size),
    randomInt: (...args: [number, number?]) => {
      if (world === null) return callPlain(randomInt, ...args);
      const [from, to] = args[1] === undefined ? [0, args[0]] : [args[0], args[1]];
      return from + Math.floor(next() * (to - from));
    },
  });
}

async function replaceFiles(): Promise<void> {
  // oxlint-disable-next-line no-unsafe-type-assertion -- Node's own
  const handle = (await callPlain(files["open"], import.meta.filename)) as { close: () => Promise<void> };
  const prototype: object = Object.getPrototypeOf(handle);
  await handle.close();
  for (const target of [files, prototype])
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(target)))
      if (typeof value === "function" && name !== "constructor" && name !== "watch")
        replace(target, { [name]: inTurn(value) });
}

replaceTimers();
replaceClocks();
replaceChance();
await replaceFiles();
syncBuiltinESMExports();
