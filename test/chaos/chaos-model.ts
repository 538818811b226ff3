import { createHash } from "node:crypto";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import type { Random } from "../fuzz/random.ts";
import { status, text, toolCalls } from "../support/model-behaviours.ts";
import type { Behaviour, ChatRequest, ModelServer } from "../support/model-server.ts";
import { offers, piecesIn } from "../support/request-pieces.ts";
import { Hold } from "./hold.ts";
import { HeadReader } from "../../src/text/line-head.ts";
import { rawLineOf } from "./texts.ts";

/** Where a model's request can be held. */
export type ModelPlace =
  | "turn.model"
  | "turn.stream"
  | "turn.second"
  | "job.model"
  | "job.memory"
  | "job.part"
  | "merge.model";

/** What the summariser does: as it comes, or one thing only. */
export type Mood = "mixed" | "well" | "stalled" | "down" | "bad" | "saving";

/** A request of the agent's, as far as a check needs it. */
export interface TurnRequest {
  /** `platform:name`. */
  readonly channel: string;
  /** `Date.now()` when it came. */
  readonly at: number;
  /** When the same bytes came first: what was not answered is asked again as it was, seconds later. */
  readonly firstAt: number;
  /** Which process sent it. */
  readonly session: number;
  readonly tools: string;
  readonly system: string;
  readonly summaries: readonly string[];
  /** Part 4, a piece each, as JSON. */
  readonly raw: readonly string[];
  /** What persons said in parts 4 and 6. */
  readonly lines: readonly string[];
  /** Lines of part 4 among them. */
  readonly rawLines: number;
  /** Of its messages and its limit for the answer. */
  readonly bytes: string;
  /** Characters of its messages. */
  readonly size: number;
  /** The server has refused it: Weir may try less. */
  isRefused: boolean;
  /** The requests of its process for the channel that came right before it and were refused, oldest first. */
  readonly refused: readonly TurnRequest[];
}

/** A summariser's request that was heard to its end, with the answer. */
export interface PaidRequest {
  readonly key: string;
  readonly at: number;
  readonly mark: string;
  /** Marks of the messages that it is to summarise for the first time; of merges and of what is written again: none. */
  readonly read: readonly string[];
}

/** How the message begins that Weir puts behind what was said. */
export const DYNAMIC = "[System: what is true just now";
const SUMMARY = "[Compaction Summary]: ";
const TRANSCRIPT_LINE = /^\d+\. \[[\d :-]+\] [^:\n]+: (g\d+) /gmu;
/** Share of the answers that are sent in parts where a message is short. */
const LONG_ANSWERS = 0.12;
const WORDS = "the gauge by the mill stood high and Ann wrote it into the green book before noon".split(" ");

/** The models of a run: a talker and a summariser that are slow, wrong or away now and then. */
export class ChaosModel {
  readonly holds: Readonly<Record<ModelPlace, Hold>> = {
    "turn.model": new Hold(),
    "turn.stream": new Hold(),
    "turn.second": new Hold(),
    "job.model": new Hold(),
    "job.memory": new Hold(),
    "job.part": new Hold(),
    "merge.model": new Hold(),
  };
  mood: Mood = "mixed";
  /** Every turn uses a tool first. */
  callsTools = false;
  /** Every answer is a long one. */
  isLong = false;
  /** Every turn fails. */
  failsTurns = false;
  /** `refusing`: everything is refused, whoever asks; `silent`: nobody gets an answer before they hang up. */
  absence: "none" | "refusing" | "silent" = "none";
  /** Requests that were let down by that silence. */
  hungUp = 0;
  /** The answer that was held in mid-stream last. */
  halfGiven = "";
  readonly #server: ModelServer;
  session = 0;
  /** Not looked at yet. */
  turns: TurnRequest[] = [];
  readonly paid: PaidRequest[] = [];
  summaries = 0;
  /** The last request of each channel. */
  readonly #last = new Map<string, TurnRequest>();
  readonly #random: Random;
  #answers = 0;

  constructor(server: ModelServer, random: Random) {
    this.#random = random;
    this.#server = server;
    server.respond((request) => this.#serve(request));
  }

  /** Lets go of whatever waits, whoever still listens. */
  releaseAll(): void {
    for (const hold of Object.values(this.holds)) hold.release();
  }

  #serve(request: ChatRequest): Behaviour {
    const behave = request.model === "talker" ? this.#talk(request) : this.#summarise(request);
    return async (exchange) => {
      try {
        if (this.absence === "refusing") await status(503, { error: { message: "gone" } })(exchange);
        else if (this.absence === "silent") await this.#keepSilent(exchange);
        else await behave(exchange);
      } finally {
        // A run of hours would keep them all.
        exchange.body.messages.length = 0;
      }
    };
  }

  /** Nobody is there to be connected to. */
  async leave(): Promise<void> {
    await this.#server.leave();
  }

  async comeBack(): Promise<void> {
    await this.#server.comeBack();
  }

  async #keepSilent({ signal }: Parameters<Behaviour>[0]): Promise<void> {
    await once(signal, "abort");
    this.hungUp++;
  }

  #talk(request: ChatRequest): Behaviour {
    const turn = this.#record(request);
    const isSecond = request.messages.at(-1)?.role === "tool";
    const wantsTool = !isSecond && (this.#random.chance(0.1) || this.callsTools);
    const isFailing = this.#random.chance(0.02);
    const isLong = this.#random.chance(LONG_ANSWERS) || this.isLong;
    const words = this.#words(isLong ? this.#random.int(60, 150) : this.#random.int(3, 12));
    const answer = `Answer ${++this.#answers}${isLong ? " in parts" : ""}: ${words}`;
    const delayMs = this.#random.pick([0, 1, 3]);
    return async (exchange) => {
      await this.holds["turn.model"].pass();
      if (isSecond) await this.holds["turn.second"].pass();
      if (this.failsTurns || isFailing) {
        turn.isRefused = true;
        return status(this.failsTurns ? 400 : 500)(exchange);
      }
      if (wantsTool) return this.#callTool(exchange);
      if (!this.holds["turn.stream"].isArmed) return text(answer, { delayMs })(exchange);
      this.halfGiven = answer;
      return streamHalf(answer, this.holds["turn.stream"])(exchange);
    };
  }

  async #callTool(exchange: Parameters<Behaviour>[0]): Promise<void> {
    const call = { name: "search_history", arguments: { query: "gauge by the mill" } };
    await toolCalls([call], { text: "Let me look." })(exchange);
  }

  #summarise(request: ChatRequest): Behaviour {
    // Which older memories have changed is asked when a job is over, and pays for no summary.
    if (offers(request, "memory_revise"))
      return toolCalls([
        { name: "memory_revise", arguments: { changes: [{ new: 1, old: 2, change: "replaces" }] } },
      ]);
    const at = Date.now();
    const key = JSON.stringify([request.messages, request.tools]);
    const task =
      request.messages.map(({ content }) => content ?? "").findLast((one) => one.includes("your task")) ?? "";
    const isMerge = /The \d+ texts above/.test(task);
    const isPart = /part ([2-9]|\d\d) of \d+/.test(task);
    const isAfterSave = request.messages.some(({ role }) => role === "tool");
    const mark = `S${++this.summaries}#`;
    const firstDelayMs = this.#random.pick([0, 5, 20, 60, 150]);
    const bad = this.mood === "bad" || (this.mood === "mixed" && this.#random.chance(0.15));
    const isDown = this.mood === "down" || (this.mood === "mixed" && this.#random.chance(0.04));
    const badAnswer = this.#random.pick(["", "I'm sorry, I can't help with that.", this.#words(400)]);
    const maySave = (request.tools?.length ?? 0) > 0 && request.tool_choice !== "none" && !isAfterSave;
    const saves = maySave && (this.mood === "saving" || this.#random.chance(0.4));
    const good = `${mark} ${this.#words(this.#random.int(8, 40))}.`;
    // Only who reads for the first time may remember.
    const read = (request.tools?.length ?? 0) > 0 ? transcriptMarks(request) : [];
    const memory = saves ? memoryOf(request) : null;
    return async (exchange) => {
      await this.holds["job.model"].pass();
      if (isMerge) await this.holds["merge.model"].pass();
      if (isPart) await this.holds["job.part"].pass();
      if (isAfterSave) await this.holds["job.memory"].pass();
      if (this.mood === "stalled") await delay(600_000, undefined, { signal: exchange.signal });
      if (isDown) return status(500)(exchange);
      if (memory !== null) return toolCalls([{ name: "memory_save", arguments: memory }])(exchange);
      if (bad) return text(badAnswer, { firstDelayMs })(exchange);
      await text(good, { firstDelayMs })(exchange);
      this.paid.push({ key: createHash("sha256").update(key).digest("hex"), at, mark, read });
    };
  }

  #record(request: ChatRequest): TurnRequest {
    const { tools } = request;
    const messages = piecesIn(request);
    const dynamic = messages.findIndex(({ content }) => content?.startsWith(DYNAMIC) === true);
    const said = messages[dynamic]?.content ?? "";
    const [, name, platform] = /^> Place: "(\S+)" on (\S+)$/m.exec(said) ?? [];
    const head = messages.slice(1, Math.max(1, dynamic));
    const isSummary = (content: string | null | undefined): boolean => content?.startsWith(SUMMARY) === true;
    const raw = head.filter(({ content }) => !isSummary(content));
    const heads = new HeadReader();
    const linesOf = (list: ChatRequest["messages"]): string[] =>
      list.flatMap(({ role, content }) =>
        role === "user" ? (rawLineOf(heads.dated(content ?? "")) ?? []) : [],
      );
    const before = linesOf(raw);
    const channel = `${platform}:${name}`;
    const at = Date.now();
    const body = JSON.stringify(messages);
    const limit = request.max_completion_tokens ?? request.max_tokens ?? 0;
    const bytes = createHash("sha256").update(`${limit} ${body}`).digest("hex");
    const last = this.#last.get(channel);
    const turn: TurnRequest = {
      channel,
      at,
      firstAt: last?.bytes === bytes ? last.firstAt : at,
      session: this.session,
      tools: JSON.stringify(tools ?? []),
      system: messages[0]?.content ?? "",
      summaries: head.flatMap(({ content }) => (isSummary(content) ? [content ?? ""] : [])),
      raw: raw.map((message) => JSON.stringify(message)),
      lines: [...before, ...linesOf(messages.slice(dynamic + 1))],
      rawLines: before.length,
      bytes,
      size: body.length,
      isRefused: false,
      refused: last?.isRefused === true && last.session === this.session ? [...last.refused, last] : [],
    };
    this.#last.set(channel, turn);
    this.turns.push(turn);
    return turn;
  }

  #words(count: number): string {
    return randomWords(this.#random, count);
  }
}

export function randomWords(random: Random, count: number): string {
  return Array.from({ length: count }, () => random.pick(WORDS)).join(" ");
}

function transcriptMarks({ messages }: ChatRequest): string[] {
  return messages.flatMap(({ content }) =>
    [...(content ?? "").matchAll(TRANSCRIPT_LINE)].flatMap(([, mark]) => mark ?? []),
  );
}

/** Something that a line of the transcript says, as `memory_save` wants it: its numbers stand in that line, too. */
export function memoryOf({ messages }: ChatRequest): object | null {
  for (const { content } of messages) {
    const found = /^(\d+)\. \[[\d :-]+\] [^:\n]+: (g\d+) ([\p{L} ]{20,60}) /mu.exec(content ?? "");
    if (found === null) continue;
    const [, line, id, words] = found;
    const statement = `${id} said: ${words}`;
    return {
      memories: [
        { type: "fact", subject: "gauge", statement, quote: words, sources: [Number(line)], importance: 0.5 },
      ],
    };
  }
  return null;
}

/** Shows the first words, then waits. */
function streamHalf(answer: string, hold: Hold): Behaviour {
  return async ({ response }) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.flushHeaders();
    const piece = (content: string, finish: string | null): string => {
      const choice = { index: 0, delta: { content }, finish_reason: finish };
      return `data: ${JSON.stringify({ object: "chat.completion.chunk", choices: [choice] })}\n\n`;
    };
    response.write(piece(answer.slice(0, 10), null));
    await hold.pass();
    response.end(`${piece(answer.slice(10), "stop")}data: [DONE]\n\n`);
  };
}
