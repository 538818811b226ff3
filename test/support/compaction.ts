/** Common parts of the compactor's tests over the whole daemon: a configuration, scripted models, waits. */
import { HeadReader } from "../../src/text/line-head.ts";
import assert from "node:assert/strict";
import { setImmediate as nextTick } from "node:timers/promises";
import { Breaker } from "../../src/compactor/breaker.ts";
import type { Compaction } from "../../src/channel/channel-context.ts";
import { COMPACTOR_TIMING } from "../../src/compactor/target.ts";
import type { Config } from "../../src/config/config.ts";
import type { Binding } from "../../src/router/bindings.ts";
import type { ChannelId } from "../../src/core/ids.ts";
import type { Connection } from "../../src/store/database/queryable.ts";
import type { WeirEvent } from "../../src/telemetry/events.ts";
import { type OpenStore, openStore } from "../store/open-store.ts";
import { createTestDatabase } from "./database.ts";
import { text } from "./model-behaviours.ts";
import {
  type Behaviour,
  type ChatRequest,
  type ModelServer,
  type RecordedRequest,
  startModelServer,
} from "./model-server.ts";
import { readConfig, startWeir, type TestWeir } from "./weir.ts";
import { piecesIn } from "./request-pieces.ts";

const AGENT = "test-model";
export const SUMMARISER = "summariser";
export const SPARE = "spare";

export interface ConfigLines {
  readonly top?: string;
  readonly agent?: string;
  readonly compaction?: string;
  /** Tokens. */
  readonly window?: number;
  /** Whether summaries are written ahead. Default: no. */
  readonly ahead?: boolean;
  /** The folder with the agents' folders; default: none. */
  readonly agentsDir?: string;
}

/** A config.toml. By default 7168 tokens are usable: a summary has at most 94, background begins at 5734. */
export function compactionConfig({
  top = "",
  agent = "",
  window = 8192,
  ahead = false,
  ...rest
}: ConfigLines): string {
  return `
[llm]
max_retries = 0
${top}
[[agents]]
id = "main"
name = "Weir"
model = "${AGENT}"
compactor_model = "${SUMMARISER}"
context_window = ${window}
max_output_tokens = 512
generation_reserve = 512
time_zone = "UTC"
${agent}
[agents.compaction]
write_ahead = ${ahead}
${rest.compaction ?? ""}
`;
}

/** The back-offs: `short` ones end within a test, also after a failed model; `long` ones do not. */
export function compactionParts(
  rests: "short" | "long" = "long",
  breaker = new Breaker(() => performance.now()),
): Partial<Compaction> {
  const waitMs = rests === "short" ? 5 : 3_600_000;
  const timing = {
    ...COMPACTOR_TIMING,
    lookEveryMs: 1,
    modelBackoff: { fromMs: waitMs, toMs: waitMs },
    databaseBackoff: { fromMs: 20, toMs: 20 },
  };
  return { timing, breaker };
}

/** A database, a model server, and a log besides the daemon's: each test has its own. */
export interface Scene extends AsyncDisposable {
  readonly connection: Connection;
  readonly server: ModelServer;
  readonly open: OpenStore;
  /** The configuration of `start`. */
  config(lines?: ConfigLines): Promise<Config>;
  /** @param now the time in the conversations; default: the wall clock */
  start(
    lines?: ConfigLines,
    parts?: Partial<Compaction>,
    binding?: Partial<Binding>,
    now?: () => Date,
  ): Promise<TestWeir>;
}

export async function openScene(): Promise<Scene> {
  await using stack = new AsyncDisposableStack();
  const { connection } = stack.use(await createTestDatabase());
  const open = stack.use(openStore(connection));
  const server = stack.use(await startModelServer());
  const kept = stack.move();
  const options = (lines: ConfigLines) => {
    const { agentsDir } = lines;
    return {
      connection,
      modelUrl: server.url,
      config: compactionConfig(lines),
      ...(agentsDir !== undefined && { agentsDir }),
    };
  };
  return {
    connection,
    server,
    open,
    config: async (lines = {}) => readConfig(options(lines)),
    start: async (lines = {}, parts = compactionParts(), binding = {}, now) =>
      startWeir({ ...options(lines), compaction: parts, binding, ...(now !== undefined && { now }) }),
    [Symbol.asyncDispose]: async () => kept.disposeAsync(),
  };
}

const FILLER =
  "the river stood above the old mark by the mill, and Ann wrote the reading into the green book before " +
  "she walked home along the dyke to feed the geese and mend the gate that the storm had broken, as she had done " +
  "on the morning before it, and on most others.";

/** A person's text of about 70 tokens, with a unique mark. */
export function reading(number: number): string {
  return `gauge-${number}: on that morning ${FILLER}`;
}

/** Says readings that need no answer. */
export async function listen(weir: TestWeir, room: string, from: number, to: number): Promise<void> {
  for (let number = from; number <= to; number++) {
    await weir.say(reading(number), { room, addressed: false, id: `${room}-${number}` });
  }
}

/** Puts readings 1 to `count` into the log before a daemon takes the channel. */
export async function fillLog(open: OpenStore, room: string, count: number): Promise<ChannelId> {
  const { id } = await open.channel(room);
  for (let number = 1; number <= count; number++) {
    await open.say(id, reading(number), { addressed: false, id: `${room}-${number}` });
  }
  return id;
}

/** The agent says "noted"; a summariser (any other name) behaves as the test says. */
export function script(
  server: ModelServer,
  summariser: (request: ChatRequest, index: number) => Behaviour,
  agent: (request: ChatRequest) => Behaviour = () => text("noted", { usage: "none" }),
): void {
  let asked = 0;
  server.respond((request) => (request.model === AGENT ? agent(request) : summariser(request, asked++)));
}

export function agentRequests(server: ModelServer): RecordedRequest[] {
  return server.requests.filter(({ body }) => body.model === AGENT);
}

export function summariserRequests(server: ModelServer): RecordedRequest[] {
  return server.requests.filter(({ body }) => body.model !== AGENT);
}

/** The nth request to a summariser, past or future. @param nth from 1 */
export async function summariserAsked(server: ModelServer, nth: number): Promise<RecordedRequest> {
  for (;;) {
    const found = summariserRequests(server)[nth - 1];
    if (found !== undefined) return found;
    await server.received(server.requests.length + 1);
  }
}

/** `(2026-11-21 14:05 – 14:07, 3 messages) ` in the label of a summary. */
const SPAN = /(?<=^\[Compaction Summary\]:)\s\(\d[^()]*, [\d,]+ messages?(?: from #\d+)?\)(?=\s)/;

/**
 * The texts of a request's pieces, in order, with complete heads; summaries without times and counts, which depend on
 * the clock.
 */
export function said(request: RecordedRequest | undefined): string[] {
  const heads = new HeadReader();
  return piecesIn(request?.body).map(({ role, content }) =>
    (role === "user" ? heads.dated(content ?? "") : (content ?? "")).replace(SPAN, ""),
  );
}

/** The marks of all readings in a text, in order, each once. */
export function marks(content: string | readonly string[]): number[] {
  const whole = typeof content === "string" ? content : content.join("\n");
  return [...new Set([...whole.matchAll(/\bgauge-(\d+)/g)].map(([, number]) => Number(number)))];
}

/** A behaviour that waits for the test to give its answer. */
export interface Held {
  readonly behaviour: Behaviour;
  release(behaviour: Behaviour): void;
}

export function hold(): Held {
  const { promise, resolve } = Promise.withResolvers<Behaviour>();
  return {
    async behaviour(exchange) {
      const behave = await promise;
      if (!exchange.signal.aborted) await behave(exchange);
    },
    release: resolve,
  };
}

type CompactionEvent = Extract<WeirEvent, { type: "compaction" }>;

/** The compactions of a room that have reached this phase, oldest first. */
export function compactions(
  weir: TestWeir,
  room: string,
  phase: CompactionEvent["phase"],
): CompactionEvent[] {
  return weir.events.filter(
    (event): event is CompactionEvent =>
      event.type === "compaction" && event.channel === `test:${room}` && event.phase === phase,
  );
}

/** Resolves with the nth compaction of a room in this phase, past or future. @param nth from 1 */
export async function compaction(
  weir: TestWeir,
  room: string,
  phase: CompactionEvent["phase"],
  nth = 1,
): Promise<CompactionEvent> {
  await weir.event("compaction", () => compactions(weir, room, phase).length >= nth);
  const found = compactions(weir, room, phase)[nth - 1];
  assert.ok(found !== undefined);
  return found;
}

/** Asks a question, and waits until its answer is delivered. @returns its request */
export async function ask(
  weir: TestWeir,
  server: ModelServer,
  room: string,
  question: string,
): Promise<RecordedRequest> {
  const channel = `test:${room}`;
  const delivered = (): number =>
    weir.events.filter((event) => event.type === "reply_delivered" && event.channel === channel).length;
  const before = delivered();
  await weir.say(question, { room });
  await weir.event("reply_delivered", () => delivered() > before);
  const asked = agentRequests(server).findLast(({ body }) =>
    body.messages.some(({ content }) => content?.includes(question) === true),
  );
  assert.ok(asked !== undefined, `${question} is in no request`);
  return asked;
}

/** Resolves when a channel has read its messages, and has no compaction due, waiting or running. */
export async function quiet(weir: TestWeir, room: string): Promise<void> {
  const row = await weir.daemon.store.channels.find({ platform: "test", name: room });
  assert.ok(row !== undefined);
  const known = (): number => weir.daemon.registry.loaded(row.id)?.history.current.lastSeq ?? Infinity;
  while (known() < row.lastSeq) await nextTick();
  await nextTick();
  await weir.daemon.registry.compactionsIdle();
}

/** Asserts that memory equals the commits in the log, and that every entry is in exactly one place. */
export async function checkFold(weir: TestWeir, room: string): Promise<void> {
  const row = await weir.daemon.store.channels.find({ platform: "test", name: room });
  assert.ok(row !== undefined);
  await quiet(weir, room);
  const memory = await weir.daemon.registry.loaded(row.id)?.history.snapshot();
  const { history } = await weir.daemon.store.load(row.id);
  if (memory !== undefined) assert.deepEqual(memory, history);
  let covered = 0;
  for (const { fromSeq, toSeq } of history.summaries) {
    assert.equal(fromSeq, covered + 1, "summaries tile");
    covered = toSeq;
  }
  assert.equal(history.coveredTo, covered);
  const raw = history.entries.map(({ seq }) => seq);
  const first = Math.max(covered, history.omittedTo) + 1;
  assert.deepEqual(
    raw,
    Array.from({ length: history.lastSeq - first + 1 }, (_, index) => first + index),
  );
}
