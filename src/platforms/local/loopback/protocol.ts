import { z } from "zod";
import {
  commandSchema,
  deletionSchema,
  editSchema,
  kindSchema,
  messageSchema,
  textSchema,
  timeSchema,
} from "../messages.ts";
import { nameSchema } from "../../terminal/presenters/jsonl-grammar.ts";

/** Requests and answers of the loopback service. */

/** Longest text of a message, in UTF-16 units. */
export const MAX_TEXT_LENGTH = 1_000_000;
/** Largest request, in bytes. */
export const MAX_BODY_BYTES = 16 * 1024 * 1024;
/** Longest time that `POST /events` may be asked to wait. */
export const MAX_WAIT_MS = 60_000;

const text = z.string().max(MAX_TEXT_LENGTH);

/** `POST /channels/:channel/messages`: a person says something. */
export const messagePost = z.strictObject({
  author: nameSchema,
  text,
  /** Default: one is made. A second post with the same id is delivered again, and said once. */
  id: nameSchema.optional(),
  /** Default: now. */
  at: z.iso.datetime({ offset: true }).optional(),
  /** True: not meant for the bot. */
  listen: z.boolean().default(false),
  kind: kindSchema.default("channel"),
});
export type MessagePost = z.output<typeof messagePost>;

/** `PATCH /channels/:channel/messages/:id`. */
export const messagePatch = z.strictObject({ text });

/** `POST /channels/:channel/replies` and `PATCH /channels/:channel/replies/:id`: the bot speaks. */
export const reply = z.strictObject({
  ...textSchema.shape,
  text,
  inReplyTo: textSchema.shape.inReplyTo.max(100_000),
});
export type Reply = z.output<typeof reply>;

/** `POST /channels/:channel/commands`: a person gives a command. */
export const commandPost = z.strictObject({
  name: nameSchema,
  argument: z.string().max(10_000).default(""),
  asker: nameSchema.default("someone"),
});
export type CommandPost = z.output<typeof commandPost>;

/** `POST /commands/:id/answer`. */
export const commandAnswer = z.strictObject({
  text,
  /** The answer as data, where it is more than a text. */
  card: z.looseObject({}).optional(),
});
export type LoopbackAnswer = z.output<typeof commandAnswer>;

/** `POST /faults`: how the next `times` calls of an operation fail. */
export const faultPost = z.strictObject({
  operation: z.enum(["send", "edit", "events"]),
  /**
   * `status`: answered with `status` (500), nothing done. `reset_before`: the socket is destroyed, nothing done.
   * `reset_after`: done, then the socket is destroyed before the answer. `slow`: done after `delayMs`. `gone`: 410.
   * `retry_after`: 429 with a Retry-After of `delayMs`.
   */
  fault: z.enum(["status", "reset_before", "reset_after", "slow", "gone", "retry_after"]),
  times: z.int().min(1).max(1_000_000).default(1),
  status: z.int().min(400).max(599).default(500),
  delayMs: z.int().min(0).max(600_000).default(1000),
});
export type Fault = z.output<typeof faultPost>;

const delivery = { number: z.int(), channel: z.string() };

/** Something that a person did. Numbers rise by one over all channels. */
const loopbackEvent = z.discriminatedUnion("type", [
  messageSchema.extend(delivery),
  editSchema.extend(delivery),
  deletionSchema.extend(delivery),
  commandSchema.extend({ ...delivery, type: z.literal("command"), id: z.string(), at: timeSchema }),
]);
export type LoopbackEvent = z.output<typeof loopbackEvent>;

/** Characters of its text. */
export function lengthOf(event: LoopbackEvent): number {
  return "text" in event ? event.text.length : 0;
}

const position = z.strictObject({ channel: z.string(), number: z.int().min(0) });
export type Position = z.output<typeof position>;

/** Most events of one answer of `POST /events`. */
export const MAX_PAGE_EVENTS = 500;

/** `POST /events`: the bot asks for events that it has not received yet. */
export const eventRequest = z.strictObject({
  /** The service whose events `underWay` names. Events of an earlier service are ignored. */
  server: z.string().optional(),
  /** The last received event of each channel; unnecessary if that event was acknowledged. */
  underWay: z.array(position).default([]),
  /** At most so many events. */
  room: z.int().min(1).max(MAX_PAGE_EVENTS).default(MAX_PAGE_EVENTS),
  /** How long to wait for an event. */
  waitMs: z.number().min(0).max(MAX_WAIT_MS).default(0),
});
export type EventRequest = z.output<typeof eventRequest>;

/** `POST /events/durable`: of each channel, all events up to this one are durable, and are not delivered again. */
export const durablePost = z.strictObject({ server: z.string(), channels: z.array(position) });
export type DurablePost = z.output<typeof durablePost>;

/** Answer of `POST /events`. */
export const eventPage = z.object({
  /** Changes when the service is started again, and numbers its events from one. */
  server: z.string(),
  events: z.array(loopbackEvent),
});
export type EventPage = z.output<typeof eventPage>;

/** Answer of `POST /channels/:channel/replies`. */
export const replyReceipt = z.object({ id: z.string() });
