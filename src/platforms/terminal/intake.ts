import { userInfo } from "node:os";
import { answerText, type CommandAnswer } from "../../core/card.ts";
import { errorMessage, unreachable } from "../../core/errors.ts";
import type { ChannelOnPlatform, InboundEvent, InboundMessage, Receipt } from "../../core/message.ts";
import type { PlatformInbox } from "../platform.ts";
import type { Session } from "./presenters/presenter.ts";
import { SESSION_HELP } from "./typed/help.ts";

export const PLATFORM_NAME = "terminal";

/** The outcome of a message that was handed to the inbox; `failed`: it could not be made durable. */
export type Intake = Receipt | { readonly outcome: "failed"; readonly why: string };

/**
 * Hands a message to the inbox, and counts it as pending while a reply may still come. If it was accepted, the caller reports
 * it to the session and then calls `pending.accept`. Never throws.
 */
export async function takeIn(
  inbox: PlatformInbox,
  { pending }: Pick<Session, "pending">,
  message: InboundMessage,
): Promise<Intake> {
  const channel = message.channel.name;
  // Before it is durable: with a fast model the reply may come before the receipt.
  const isOffered = message.addressed && pending.offer(channel, message.id);
  const intake = await receive(inbox, message);
  // A duplicate of an earlier session's message may have been answered long ago: whether a reply comes is unknown.
  if (isOffered && intake.outcome !== "accepted") pending.forget(channel, message.id);
  return intake;
}

/** Hands an event on; never rejects. */
export async function receive(inbox: PlatformInbox, event: InboundEvent): Promise<Intake> {
  try {
    return await inbox.receive(event);
  } catch (error) {
    return { outcome: "failed", why: errorMessage(error) };
  }
}

function placeOf({ channel, multi }: Pick<Session, "channel" | "multi">): ChannelOnPlatform {
  return {
    channel: { platform: PLATFORM_NAME, name: channel },
    kind: multi ? "channel" : "dm",
    workspace: "",
  };
}

/** A message that a person typed into the session's own channel. */
export function typedMessage(
  session: Pick<Session, "channel" | "multi" | "newId" | "now">,
  speaker: string,
  text: string,
): InboundMessage {
  return {
    type: "message",
    ...placeOf(session),
    id: session.newId(),
    author: { id: speaker, name: speaker, isBot: false },
    text,
    at: session.now(),
    addressed: true,
  };
}

/** Why a typed message will bring no reply, in words for the person; null if one is to be expected. */
export function refusal(intake: Intake, session: Pick<Session, "channel">): string | null {
  switch (intake.outcome) {
    case "accepted":
      return null;
    case "unbound":
      return `No agent answers the channel ${PLATFORM_NAME}:${session.channel}. Check [[bindings]] in config.toml.`;
    case "failed":
      return `This could not be stored, so it was not heard: ${intake.why}`;
    case "duplicate":
    case "unknown_message":
    case "ignored":
    case "command":
      return `This was not taken (${intake.outcome}).`;
    default:
      return unreachable(intake);
  }
}

/** Runs a typed command. @returns what to show; never throws */
export async function runCommand(
  inbox: PlatformInbox,
  session: Session,
  command: {
    readonly name: string;
    readonly argument: string;
    readonly asker: string;
    /** Default: the session's own channel. */
    readonly where?: ChannelOnPlatform;
  },
): Promise<CommandAnswer> {
  const { name, argument, where = placeOf(session) } = command;
  try {
    const answer = await inbox.command({
      channel: where.channel,
      where,
      name,
      argument,
      asker: { id: command.asker, name: command.asker, roles: [] },
    });
    return name === "help" ? `${answerText(answer).trimEnd()}\n${SESSION_HELP}` : answer;
  } catch (error) {
    return `/${name} failed: ${errorMessage(error)}`;
  }
}

/** The author of messages that name no speaker: the user of the operating system. */
export function defaultSpeaker(): string {
  try {
    return userInfo().username || "you";
  } catch {
    // The user has no entry in the system's table, as in some containers.
    return "you";
  }
}
