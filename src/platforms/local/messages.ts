import { z } from "zod";
import type { Card, CommandAnswer } from "../../core/card.ts";
import type {
  ChannelKind,
  ChannelOnPlatform,
  InboundChannelDeletion,
  InboundEvent,
  OutboundMessage,
} from "../../core/message.ts";
import type { InboundCommand } from "../platform.ts";

/**
 * The messages of platforms on this machine: events of people, and texts and answers of Weir. Both protocols carry them. They
 * keep two transports, because the daemon has opposite parts in them:
 *
 * - `attached/`: the daemon is the server. Chats attach over a Unix socket, which file permissions protect; each event gets a
 *   receipt, each text a confirmation, and news of turns are pushed.
 * - `loopback/`: the daemon is a client of a service that outlives it. Scripts and other bots use the same HTTP API, so events
 *   are polled, and acknowledged once they are durable.
 */

export const kindSchema = z.enum(["dm", "channel", "thread"]);

/** Years beyond 9999 have a sign, which `z.iso.datetime` refuses. */
export const timeSchema = z.string().refine((text) => !Number.isNaN(Date.parse(text)), "must be a time");
const ofAnyEvent = { id: z.string(), at: timeSchema };

export const messageSchema = z.object({
  type: z.literal("message"),
  channel: z.string().min(1),
  ...ofAnyEvent,
  author: z.string(),
  text: z.string(),
  /** True: not meant for the bot. */
  listen: z.boolean(),
  kind: kindSchema,
});
const ofAnyChange = { ...ofAnyEvent, channel: z.string().optional() };
export const editSchema = z.object({ type: z.literal("edit"), ...ofAnyChange, text: z.string() });
export const deletionSchema = z.object({ type: z.literal("deletion"), ...ofAnyChange });

export const personEventSchema = z.discriminatedUnion("type", [messageSchema, editSchema, deletionSchema]);
type PersonEvent = z.output<typeof personEventSchema>;

export const commandSchema = z.object({
  channel: z.string().min(1),
  /** Default: unknown. */
  kind: kindSchema.optional(),
  name: z.string(),
  argument: z.string(),
  asker: z.string(),
});
type PersonCommand = z.output<typeof commandSchema>;

/** A text of Weir's for people. */
export const textSchema = z.object({
  text: z.string(),
  final: z.boolean(),
  inReplyTo: z.array(z.string()),
  kind: z.enum(["answer", "notice"]),
  timing: z.strictObject({ turnMs: z.number(), modelMs: z.number() }).optional(),
});
type WeirText = z.output<typeof textSchema>;

const cardSchema = z.object({
  title: z.string(),
  summary: z.string(),
  tone: z.enum(["calm", "warning", "critical"]),
  bar: z.object({ share: z.number(), marks: z.array(z.object({ label: z.string(), share: z.number() })) }),
  fields: z.array(z.object({ label: z.string(), value: z.string() })),
  lists: z.array(z.object({ label: z.string(), lines: z.array(z.string()) })),
});

/** The answer to a command: its text, and its card as data. */
export const answerSchema = z.object({ text: z.string(), card: cardSchema.optional() });
export interface Answer {
  readonly text: string;
  readonly card?: Omit<Card, "text"> | undefined;
}

export function toInbound(platform: string, event: PersonEvent): LocalEvent {
  const { id, channel: name } = event;
  const at = new Date(event.at);
  if (event.type === "message") {
    const { type, author, text, listen, kind } = event;
    const place = placeOf(platform, event.channel, kind);
    return {
      type,
      ...place,
      id,
      author: { id: author, name: author, isBot: false },
      text,
      at,
      addressed: !listen,
    };
  }
  const where = { platform, ...(name !== undefined && { channel: { platform, name } }) };
  if (event.type === "edit") return { type: "edit", ...where, id, text: event.text, at };
  return { type: "deletion", ...where, id, at };
}

/** People on this machine delete no channels. */
export type LocalEvent = Exclude<InboundEvent, InboundChannelDeletion>;

/** The reverse of {@link toInbound}: a person's name is the id. */
export function fromInbound(event: LocalEvent): PersonEvent {
  const change = { id: event.id, at: event.at.toISOString() };
  if (event.type === "message") {
    const { type, channel, kind, author, text, addressed } = event;
    return { type, channel: channel.name, ...change, author: author.name, text, listen: !addressed, kind };
  }
  const where = { channel: event.channel?.name, ...change };
  return event.type === "edit"
    ? { type: "edit", ...where, text: event.text }
    : { type: "deletion", ...where };
}

export function toCommand(platform: string, command: PersonCommand): InboundCommand {
  const { channel: name, kind, argument, asker } = command;
  return {
    channel: { platform, name },
    ...(kind !== undefined && { where: placeOf(platform, name, kind) }),
    name: command.name,
    argument,
    asker: { id: asker, name: asker, roles: [] },
  };
}

/** The reverse of {@link toCommand}. */
export function fromCommand({ channel, where, name, argument, asker }: InboundCommand): PersonCommand {
  return { channel: channel.name, kind: where?.kind, name, argument, asker: asker.name };
}

export function toText({ text, final, inReplyTo, kind, timing }: OutboundMessage): WeirText {
  return { text, final, inReplyTo: [...inReplyTo], kind, ...(timing !== undefined && { timing }) };
}

export function toAnswer(answer: CommandAnswer): Answer {
  if (typeof answer === "string") return { text: answer };
  const { text, ...card } = answer;
  return { text, card };
}

/** The reverse of {@link toAnswer}. */
export function fromAnswer({ text, card }: Answer): CommandAnswer {
  return card === undefined ? text : { ...card, text };
}

function placeOf(platform: string, name: string, kind: ChannelKind): ChannelOnPlatform {
  return { channel: { platform, name }, kind, workspace: "" };
}
