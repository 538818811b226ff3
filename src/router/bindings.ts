import type { BindingConfig } from "../config/config.ts";
import type { AgentId } from "../core/ids.ts";
import { type ChannelOnPlatform, type InboundMessage, REACTION_PREFIX } from "../core/message.ts";

/** Which agent answers which channels, and when. */
export interface Binding extends Omit<BindingConfig, "platform"> {
  readonly platform: string;
  /** Ids of the people whose DMs are wanted, by the platform and by `allowUsers`; null: everybody's. */
  readonly dmAllow: readonly string[] | null;
}

/** A binding of everything on a platform: who is addressed there is the adapter's word alone. */
export function bindPlatform(platform: string, agent: AgentId): Binding {
  return {
    agent,
    platform,
    workspaces: [],
    channels: [],
    threads: true,
    dms: true,
    dmAllow: null,
    mentionRequired: true,
    listen: true,
    allowUsers: [],
    allowRoles: [],
    allowBots: true,
    rateLimit: 0,
    streaming: true,
    acknowledge: "",
  };
}

/** The first binding that matches; undefined: nobody answers this channel. Pure. */
export function findBinding(bindings: readonly Binding[], where: ChannelOnPlatform): Binding | undefined {
  return bindings.find((binding) => matches(binding, where));
}

function matches(binding: Binding, { channel, kind, workspace, place }: ChannelOnPlatform): boolean {
  if (binding.platform !== channel.platform) return false;
  if (kind === "dm") return binding.dms;
  if (kind === "thread" && !binding.threads) return false;
  const { parent = null, channel: title = "" } = place ?? {};
  // Anybody may begin a thread, and call it what they like: by name it goes by its channel's.
  const names = kind === "thread" ? [parent?.id ?? "", parent?.name ?? ""] : [title];
  return (
    isNamed(binding.workspaces, [workspace, place?.workspace ?? ""]) &&
    isNamed(binding.channels, [channel.name, ...names])
  );
}

function isNamed(wanted: readonly string[], names: readonly string[]): boolean {
  if (wanted.length === 0) return true;
  const known = new Set(names.filter((name) => name !== "").map(plainName));
  return wanted.some((name) => known.has(plainName(name)));
}

/** `#General` is `general`, `@Ann` is `ann`. */
function plainName(name: string): string {
  return name.replace(/^[#@]/, "").toLowerCase();
}

/** What is to be done with a message. */
export type Ruling =
  | { readonly outcome: "turn" }
  | { readonly outcome: "listened" }
  /** It is not written down. */
  | { readonly outcome: "ignored"; readonly why: "bot" | "dm_not_allowed" | "not_addressed" };

/**
 * Whether a message makes a turn, is context, or neither. Pure.
 * @param takesPart the agent has answered in this channel before
 */
export function rule(binding: Binding, message: InboundMessage, takesPart: boolean): Ruling {
  const { kind, addressed } = message;
  const why = refusal(binding, message);
  if (why !== null) return { outcome: "ignored", why };
  if (message.isBackground === true) return { outcome: "listened" };
  const isMeant = addressed || !binding.mentionRequired || (kind === "thread" && takesPart);
  if (isMeant && !message.id.startsWith(REACTION_PREFIX) && mayAsk(binding, message))
    return { outcome: "turn" };
  return binding.listen || kind === "dm"
    ? { outcome: "listened" }
    : { outcome: "ignored", why: "not_addressed" };
}

/** Why nothing of what its author says there is written down; null: it may be. Pure. */
export function refusal(binding: Binding, message: InboundMessage): "bot" | "dm_not_allowed" | null {
  const { author, kind } = message;
  if (author.isBot && !binding.allowBots && !isRoot(message)) return "bot";
  const isStranger = kind === "dm" && binding.dmAllow !== null && !binding.dmAllow.includes(author.id);
  return isStranger ? "dm_not_allowed" : null;
}

/** What a thread is about, be it an alarm of another bot's or our own answer: both platforms name a thread after it. */
function isRoot({ kind, channel, id, isBackground }: InboundMessage): boolean {
  return kind === "thread" && isBackground === true && id === channel.name;
}

function mayAsk({ allowUsers, allowRoles }: Binding, { author, kind }: InboundMessage): boolean {
  // Of a DM `dmAllow` has decided.
  if (kind === "dm" || (allowUsers.length === 0 && allowRoles.length === 0)) return true;
  // By id alone: anybody can take a name.
  return allowUsers.includes(author.id) || (allowRoles.length > 0 && isNamed(allowRoles, author.roles ?? []));
}
