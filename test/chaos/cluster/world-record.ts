import { z } from "zod";
import { WAYS_IN } from "./ways-in.ts";

/** What a person says, and the daemons that may hear of it. */
export const sayPost = z.object({
  way: z.enum(WAYS_IN).default("loopback"),
  channel: z.string(),
  id: z.string(),
  text: z.string(),
  among: z.array(z.string()).min(1),
});

/** What the test is told of that. */
export const sayReceipt = z.object({
  at: z.number(),
  /** As the log has them. */
  channel: z.string(),
  messageId: z.string(),
});

/** What is told of a message that was answered. ms. */
export const askReceipt = z.object({
  /** From the message to its whole answer. */
  ms: z.number(),
  /** Of that, at the model. */
  modelMs: z.number(),
  /** Who has answered. */
  daemon: z.string(),
});
export type AskReceipt = z.output<typeof askReceipt>;

/** A call of a model: times by the clock of the machine, ms. */
const call = z.object({
  at: z.number(),
  /** Null: it is open. */
  until: z.number().nullable(),
  daemon: z.string(),
  channel: z.string(),
  /** Ids of the messages that it is to answer. */
  due: z.array(z.string()),
});
export type ModelCall = z.output<typeof call>;

/** A message of the bot's, as people see it. */
const shown = z.object({
  channel: z.string(),
  id: z.string(),
  text: z.string(),
  final: z.boolean(),
  inReplyTo: z.array(z.string()),
  kind: z.string(),
});

/** What the platform and the model have seen, each list in the order in which it came. */
export const worldRecord = z.object({
  calls: z.array(call),
  /** By channel, oldest first. */
  shown: z.array(shown),
});
export type WorldRecord = z.output<typeof worldRecord>;
