import { setTimeout as delay } from "node:timers/promises";
import { errorMessage } from "../../src/core/errors.ts";
import { answersLeft, compactionLeft } from "../chaos/recovery.ts";
import type { Sql } from "../chaos/sql.ts";
import { Deck, Random } from "../fuzz/random.ts";
import { answerProblems } from "./answer-checks.ts";
import { type Fault, FAULTS } from "./faults.ts";
import { type MetricRow, rowsOf, type Sample } from "./metrics.ts";
import { People } from "./people.ts";
import { Sampler } from "./sampler.ts";
import { openScene, type SoakScene } from "./scene.ts";

export interface SoakOptions {
  /** How long people talk, at least. */
  readonly seconds: number;
  readonly seed: number;
  /** Deeds of people a second, on average. */
  readonly pace: number;
  /** Rooms on each of the three platforms. */
  readonly rooms: number;
  readonly sampleEverySeconds: number;
  /** On a busy machine people talk on until there are so many looks at the daemon, things that were said, and kinds of faults. */
  readonly fewest: { readonly samples: number; readonly said: number; readonly faults: number };
  /** 0: nothing goes wrong. */
  readonly faultEverySeconds: number;
  /** What all numbers may gain without a leak, over what a long run allows: a short one is still warming up. */
  readonly settlingFactor: number;
  /** A module that is loaded into the daemon: a leak to be found. */
  readonly planted?: string;
  /** Told of each look at the daemon. */
  readonly onSample: (sample: Sample, faults: number) => void;
}

export interface SoakReport {
  readonly rows: readonly MetricRow[];
  readonly samples: readonly Sample[];
  /** What is wrong, growth apart. */
  readonly problems: readonly string[];
  /** How often each fault was met. */
  readonly faults: ReadonlyMap<string, number>;
  readonly people: Pick<People, "said" | "done"> | null;
  /** What happened beside, counted, as `compactions`. */
  readonly work: Readonly<Record<string, number>>;
  /** Warnings and errors in the daemon's log, by their event. */
  readonly warnings: ReadonlyMap<string, number>;
}

/** What is left must be done in this time: rests after failures of the summariser take minutes. */
const ANSWERS_MS = 120_000;
const COMPACTION_MS = 240_000;
const DRAIN_MS = 20_000;
const POLL_MS = 200;
/** Reminders that were set last come due within this time. */
const REMINDERS_MS = 60_000;

/**
 * One daemon under traffic on all platforms, and faults. The seed decides who says what and which fault comes when, not how the
 * processes' steps fall together.
 */
export async function runSoak(options: SoakOptions): Promise<SoakReport> {
  await using scene = await openScene(options);
  const people = new People(new Random(options.seed + 2), scene.rooms);
  const sampler = new Sampler({ ...scene, saidCount: () => people.said.length });
  const samples: Sample[] = [];
  const faults = new Map<string, number>();
  const problems: string[] = [];
  try {
    const over = new AbortController();
    const talking = [people.talk(options.pace, over.signal), doHarm(scene, options, faults, over.signal)];
    try {
      await Promise.race([lookOn(sampler, options, { samples, people, faults }), Promise.all(talking)]);
    } finally {
      over.abort();
      await Promise.all(talking);
    }
    // A daemon that is wrong on purpose is not waited for.
    if (options.planted !== undefined)
      return { ...reportOf(scene, options, samples), problems, faults, people, work: {} };
    scene.model.setMood("well");
    problems.push(...(await untilDone(scene, people, options)));
    problems.push(...(await answerProblems(people, scene.sql)));
    const work = await workOf(scene.sql);
    problems.push(...(await endOf(scene)));
    return { ...reportOf(scene, options, samples), problems, faults, people, work };
  } catch (error) {
    const words = scene.daemon.err.slice(-12).join("\n");
    problems.push(`the run ended: ${error instanceof Error ? error.stack : errorMessage(error)}\n${words}`);
    return { ...reportOf(scene, options, samples), problems, faults, people, work: {} };
  }
}

function reportOf(
  { daemon }: SoakScene,
  { settlingFactor }: SoakOptions,
  samples: Sample[],
): Pick<SoakReport, "rows" | "samples" | "warnings"> {
  return { rows: rowsOf(samples, settlingFactor), samples, warnings: warningsIn(daemon.err) };
}

/** Looks at the daemon every so often, until people have talked for long enough. */
async function lookOn(
  sampler: Sampler,
  { seconds, sampleEverySeconds, fewest, onSample }: SoakOptions,
  {
    samples,
    people,
    faults,
  }: { readonly samples: Sample[]; readonly people: People; readonly faults: ReadonlyMap<string, number> },
): Promise<void> {
  const overAt = performance.now() + seconds * 1000;
  const isEnough = (): boolean =>
    samples.length >= fewest.samples && people.said.length >= fewest.said && faults.size >= fewest.faults;
  for (let due = performance.now(); performance.now() < overAt || !isEnough();) {
    await delay(Math.max(0, due - performance.now()));
    due = performance.now() + sampleEverySeconds * 1000;
    const sample = await sampler.sample();
    samples.push(sample);
    const count = [...faults.values()].reduce((sum, times) => sum + times, 0);
    onSample(sample, count);
  }
}

async function doHarm(
  scene: SoakScene,
  { faultEverySeconds, seed }: SoakOptions,
  faults: Map<string, number>,
  signal: AbortSignal,
): Promise<void> {
  if (faultEverySeconds === 0) return;
  const deck = new Deck<Fault>(new Random(seed + 3), FAULTS);
  while (!signal.aborted) {
    await delay(faultEverySeconds * 1000, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    const fault = deck.deal();
    faults.set(fault.name, (faults.get(fault.name) ?? 0) + 1);
    await fault.run(scene);
  }
}

/** Waits until nobody waits for anything. @returns what is left all the same */
async function untilDone(
  { sql, daemon }: SoakScene,
  people: People,
  { seconds }: SoakOptions,
): Promise<string[]> {
  const look = async (what: () => Promise<string[]>, patienceMs: number): Promise<string[]> => {
    const deadline = performance.now() + patienceMs;
    for (;;) {
      const left = await what();
      if (left.length === 0) return [];
      if (daemon.isOver) throw new Error("the daemon has ended");
      if (performance.now() > deadline) return left.map((one) => `after ${patienceMs / 1000} s: ${one}`);
      await delay(POLL_MS);
    }
  };
  // A short run waits for what people wait for, and no longer.
  const isShort = seconds < 60;
  const told = isShort ? [] : await look(async () => reportsLeft(sql), REMINDERS_MS);
  const unheard = await look(async () => notInLog(sql, people), ANSWERS_MS);
  const left = await look(async () => answersLeft(sql), ANSWERS_MS);
  const compactions = isShort ? [] : await look(async () => compactionLeft(sql), COMPACTION_MS);
  return [...told, ...unheard, ...left, ...compactions];
}

/** A platform that connects again fetches what was said meanwhile. What was taken back since is nowhere to be fetched. */
async function notInLog(sql: Sql, { said }: People): Promise<string[]> {
  const rows = await sql.rows<{ id: string }>(
    `select c.platform || ' ' || e.message_id as id from entries e join channels c on c.id = e.channel_id where e.kind = 'user'`,
  );
  const logged = new Set(rows.map(({ id }) => id));
  return said
    .filter(({ room, id, isChanged }) => !isChanged && !logged.has(`${room.platform} ${id}`))
    .map(({ mark, room }) => `${mark} of ${room.platform} is not in the log`);
}

async function reportsLeft(sql: Sql): Promise<string[]> {
  const rows = await sql.rows<{ what: string }>(
    `select format('reminder %s of channel %s is due', id, channel_id) as what from reminders where state = 'active'
     union all select format('subagent %s of channel %s is %s', id, channel_id, state) from subagents where closed_at is null`,
  );
  return rows.map(({ what }) => what);
}

async function workOf(sql: Sql): Promise<Record<string, number>> {
  const rows = await sql.rows<{ what: string; count: number }>(
    `select 'turns ' || state as what, count(*) from turns group by state
     union all select 'summaries', count(*) from summaries
     union all select 'memories', count(*) from memories
     union all select 'calls of tools', count(*) from entries where kind = 'tool_result'
     union all select 'reminders', count(*) from reminders
     union all select 'subagents', count(*) from subagents
     union all select 'channels', count(*) from channels`,
  );
  return Object.fromEntries(rows.map(({ what, count }) => [what, count]));
}

/** SIGTERM, as whoever stops it would. */
async function endOf({ daemon }: SoakScene): Promise<string[]> {
  daemon.signal("SIGTERM");
  const timer = new AbortController();
  const ending = await Promise.race([daemon.ended, delay(DRAIN_MS, null, { signal: timer.signal })]);
  timer.abort();
  if (ending?.code === 0) return [];
  return [`SIGTERM: the daemon ${ending === null ? `runs on after ${DRAIN_MS / 1000} s` : "ended badly"}`];
}

const WARN = 40;

function warningsIn(lines: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const line of lines) {
    if (!line.startsWith("{")) continue;
    const { level, msg }: { level: number; msg: string } = JSON.parse(line);
    if (level >= WARN) counts.set(msg, (counts.get(msg) ?? 0) + 1);
  }
  return counts;
}
