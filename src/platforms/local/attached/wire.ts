import { z } from "zod";
import { settledTurnSchema, TURN_NEWS } from "../../terminal/turn-news.ts";
import { commandSchema, personEventSchema, textSchema } from "../messages.ts";

/** The protocol between a chat and the daemon that it is attached to: JSON objects, one a line. Numbers match answers to questions. */

/** Increases with each incompatible change. */
export const PROTOCOL = 2;

const count = z.number().int().nonnegative();
const texts = z.array(z.string());

const seq = z.number();
export const receiptSchema = z.discriminatedUnion("outcome", [
  z.object({ outcome: z.literal("accepted"), seq }),
  z.object({ outcome: z.literal("duplicate"), seq }),
  z.object({ outcome: z.enum(["unknown_message", "unbound", "ignored", "command"]) }),
]);

const shown = textSchema.extend({ channel: z.string(), speaker: z.string().optional() });
/** A text for people, with the parts that a terminal draws. */
export type ShownText = z.output<typeof shown>;

const turnEnding = z.object({
  settled: settledTurnSchema,
  /** The delivered answer; null: there is no answer, or it is on its way. */
  answer: z.object({ id: z.string(), message: shown }).nullable(),
});
export type TurnEnding = z.output<typeof turnEnding>;
/** How the turn of each message ended; null: it has not yet. */
export const outcomesSchema = z.array(turnEnding.nullable());

/** The first line of a chat. */
export const helloSchema = z.object({
  type: z.literal("hello"),
  /** Null: the channel with its agent's name. */
  channel: z.string().min(1).nullable(),
  /** Null: the channel's own agent. */
  agent: z.string().nullable(),
  kind: z.enum(["dm", "channel"]),
  /** False for a script: it opens a channel with its first message there. */
  opensAtOnce: z.boolean(),
  /** It shows answers while they are written. */
  streams: z.boolean(),
});
export type Hello = z.output<typeof helloSchema>;

export const chatLineSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("receive"), n: count, event: personEventSchema }),
  z.object({ type: z.literal("command"), n: count, command: commandSchema }),
  /** The channels in which it spoke before the connection was cut. */
  z.object({ type: z.literal("open"), channels: texts }),
  z.object({
    type: z.literal("outcomes"),
    n: count,
    of: z.array(z.object({ channel: z.string(), id: z.string() })),
  }),
  /** The text was written; `failed`: the chat's output is closed. */
  z.object({ type: z.literal("shown"), n: count, failed: z.boolean() }),
]);
export type ChatLine = z.output<typeof chatLineSchema>;

const welcome = z.object({
  type: z.literal("welcome"),
  pid: count,
  /** It is the Weir of another chat, and ends with it. */
  isOfChat: z.boolean(),
  channel: z.string(),
  agent: z.string(),
  /** Facts for the person at the terminal, one a line. */
  about: texts,
  commands: z.array(
    z.object({
      name: z.string(),
      help: z.string(),
      isCommon: z.literal(true).optional(),
      argument: z.object({ name: z.string(), form: z.string(), help: z.string() }).nullable(),
    }),
  ),
});
export type Welcome = z.output<typeof welcome>;

export const daemonLineSchema = z.discriminatedUnion("type", [
  welcome,
  /** In place of a welcome, and the end of the connection. */
  z.object({ type: z.literal("refused"), why: z.string() }),
  /** The answer to the chat's question of that number: a value, or the reason of the failure. */
  z.object({ type: z.literal("reply"), n: count, value: z.unknown() }),
  z.object({ type: z.literal("failed"), n: count, why: z.string() }),
  /** Waits for a `shown`. */
  z.object({ type: z.literal("show"), n: count, id: z.string(), message: shown }),
  ...TURN_NEWS,
  /** Another person has said something in a channel that the chat has open. */
  z.object({ type: z.literal("said"), author: z.string(), text: z.string() }),
  z.object({ type: z.literal("remark"), text: z.string() }),
  /** The daemon ends: it accepts nothing more, and finishes the work in flight. */
  z.object({ type: z.literal("draining") }),
]);
export type DaemonLine = z.output<typeof daemonLineSchema>;

/** A first line of any version. */
export const versionSchema = z.looseObject({ type: z.string(), protocol: z.number() });
