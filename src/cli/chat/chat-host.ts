import process from "node:process";
import { commandTable } from "../../admin/commands/commands.ts";
import { COMMANDS } from "../../features/features.ts";
import type { AgentConfig } from "../../config/config.ts";
import { agentId } from "../../core/ids.ts";
import type { Daemon } from "../../daemon/daemon.ts";
import type { ChatHost } from "../../platforms/local/attached/attached-chat.ts";
import type { TurnEnding } from "../../platforms/local/attached/wire.ts";
import { PLATFORM_NAME } from "../../platforms/terminal/intake.ts";
import { type Binding, findBinding } from "../../router/bindings.ts";
import type { MessageEnd } from "../../store/turns/answer-provenance.ts";

/**
 * The daemon's side for attached chats.
 * @param nameOf an agent's name for people
 */
export function hostOf(
  daemon: Pick<Daemon, "store" | "takeUp">,
  parts: Pick<ChatHost, "isOfChat" | "about" | "placeOf"> & {
    readonly nameOf: (agent: string) => string;
    /** Says why a turn failed. */
    readonly explain: (reason: string) => string;
  },
): ChatHost {
  const { isOfChat, about, placeOf, nameOf, explain } = parts;
  return {
    pid: process.pid,
    isOfChat,
    commands: commandTable(COMMANDS),
    about,
    placeOf,
    takeUp: async () => daemon.takeUp(PLATFORM_NAME),
    async endOf(channel, messageId) {
      const end = await daemon.store.answers.endOf({ platform: PLATFORM_NAME, name: channel }, messageId);
      if (end === null) return null;
      const reason = end.state === "failed" && end.reason !== null ? explain(end.reason) : end.reason;
      return endingOf(channel, { ...end, reason }, nameOf);
    },
  };
}

/** The agent that answers a chat, by the bindings of its daemon. Pure. */
export function placeAmong(
  bindings: readonly Binding[],
  agents: readonly Pick<AgentConfig, "id">[],
): ChatHost["placeOf"] {
  return ({ channel, agent, kind }) => {
    const wanted = agents.find(({ id }) => id === (agent ?? agents[0]?.id));
    if (wanted === undefined) {
      const known = agents.map(({ id }) => id).join(", ");
      return `There is no agent "${agent}". The Weir that runs here has: ${known}.`;
    }
    const name = channel ?? wanted.id;
    const where = { channel: { platform: PLATFORM_NAME, name }, kind, workspace: "" } as const;
    const answers = findBinding(bindings, where, () => false)?.agent;
    if (answers === undefined) return `No agent answers terminal:${name} in the Weir that runs here.`;
    if (agent === null || answers === agentId(agent)) return { channel: name, agent: answers };
    const todo = channel === null ? "" : ` Leave out --channel to talk to ${agent}, in terminal:${agent}.`;
    return `In the Weir that runs here ${answers} answers terminal:${name}, and not ${agent}.${todo}`;
  };
}

/** A text that can never be delivered is nothing to wait for. Pure. */
function endingOf(
  channel: string,
  { state, reason, inReplyTo, delivery, answer }: MessageEnd,
  nameOf: (agent: string) => string,
): TurnEnding {
  const outcome = delivery === "none" && (state === "answered" || state === "failed") ? "stopped" : state;
  const settled = { channel: `${PLATFORM_NAME}:${channel}`, outcome, reason, inReplyTo: [...inReplyTo] };
  if (answer === null) return { settled, answer: null };
  const message = {
    channel,
    text: answer.text,
    final: true,
    inReplyTo: [...inReplyTo],
    kind: answer.kind,
    ...(answer.agent !== null && { speaker: nameOf(answer.agent) }),
  };
  return { settled, answer: { id: answer.messageId, message } };
}
