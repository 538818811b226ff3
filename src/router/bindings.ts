import type { BindingConfig } from "../config/config.ts";
import type { AgentId } from "../core/ids.ts";
import {
  type Author,
  type ChannelKind,
  type ChannelOnPlatform,
  type InboundMessage,
  REACTION_PREFIX,
} from "../core/message.ts";
import { PLATFORM_ROWS } from "../platforms/platforms.ts";
import type { FindLetIn } from "./strangers.ts";
import type { ChannelRow } from "../store/channels/channels.ts";

/** Which agent answers which channels, and when. Only ids give rights to people, because anybody can take a name. */
export interface Binding extends Omit<BindingConfig, "platform" | "memoryShare"> {
  readonly platform: string;
  /** Ids of the people who may send DMs, by the platform and by `allowUsers`; null: everybody. */
  readonly dmAllow: readonly string[] | null;
  /** Names of direct conversations that it answers, on the terminal; default: all. */
  readonly dmNames?: readonly string[];
  /** Others may send DMs once they are let in. */
  readonly dmLetsIn: boolean;
  /** Memories of public channels are shared in their workspace. */
  readonly sharesMemory: boolean;
}

/** Binds a whole platform. Only the adapter decides whether a message is addressed. */
export function bindPlatform(platform: string, agent: AgentId, sharesMemory = false): Binding {
  return {
    agent,
    also: [],
    platform,
    workspaces: [],
    channels: [],
    threads: true,
    dms: true,
    dmAllow: null,
    dmLetsIn: false,
    mentionRequired: true,
    listen: true,
    allowUsers: [],
    allowRoles: [],
    allowBots: true,
    rateLimit: 0,
    streaming: true,
    acknowledge: "",
    sharesMemory,
  };
}

/** Kinds of things that the configuration may name instead of giving their id. */
export type NameKind = "workspace" | "channel" | "role";

/** Whether a configured name is valid in a server (team): people can use any names in their own server. */
export type NameHolds = (platform: string, kind: NameKind, name: string, server: string) => boolean;

const NOBODY_LET_IN: FindLetIn = () => null;

/** The first matching binding; undefined: no binding answers this channel. Pure. */
export function findBinding(
  bindings: readonly Binding[],
  where: ChannelOnPlatform,
  holds: NameHolds,
): Binding | undefined {
  return bindings.find((binding) => matches(binding, where, holds));
}

/** The binding that answers a channel that the log knows. Pure. */
export function bindingFor(
  bindings: readonly Binding[],
  { address, kind, workspace, place }: Pick<ChannelRow, "address" | "kind" | "workspace" | "place">,
  holds: NameHolds,
): Binding | undefined {
  const where = { channel: address, kind, workspace, ...(place !== null && { place }) };
  return findBinding(bindings, where, holds);
}

function matches(
  { platform, dms, dmNames, threads, workspaces, channels }: Binding,
  { channel, kind, workspace, place }: ChannelOnPlatform,
  holds: NameHolds,
): boolean {
  if (platform !== channel.platform) return false;
  if (kind === "dm") return dms && (dmNames === undefined || dmNames.includes(channel.name));
  if (kind === "thread" && !threads) return false;
  const { parent = null, channel: title = "", newestId = "" } = place ?? {};
  // A thread's name is chosen by its creator: match its channel's name instead.
  const [ids, name] =
    kind === "thread"
      ? [[channel.name, parent?.id ?? "", newestId], parent?.name ?? ""]
      : [[channel.name, newestId], title];
  const isMeant = (nameKind: NameKind) => (wanted: string) =>
    holds(platform, nameKind, plainName(wanted), workspace);
  return (
    isNamed(workspaces, [workspace], [place?.workspace ?? ""], isMeant("workspace")) &&
    isNamed(channels, ids, [name], isMeant("channel"))
  );
}

/** @param isMeant whether a wanted name holds here; an id always holds, and no name matches an id */
export function isNamed(
  wanted: readonly string[],
  ids: readonly string[],
  names: readonly string[],
  isMeant: (name: string) => boolean,
): boolean {
  if (wanted.length === 0) return true;
  const known = new Set(names.filter((name) => name !== "").map(plainName));
  return wanted.some(
    (one) => one !== "" && (ids.includes(one) || (known.has(plainName(one)) && !isId(one) && isMeant(one))),
  );
}

/** `#General` is `general`, `@Ann` is `ann`. */
export function plainName(name: string): string {
  return name.trim().replace(/^[#@]/, "").toLowerCase();
}

/** In the form of some platform's ids: a channel or role may have another's id as its name. */
export function isId(text: string): boolean {
  return PLATFORM_ROWS.some(({ ids }) => ids.test(text));
}

export type Admission =
  | { readonly outcome: "turn" }
  | { readonly outcome: "listened" }
  /** Not written to the log. */
  | { readonly outcome: "ignored"; readonly why: "bot" | "dm_not_allowed" | "not_addressed" };

/**
 * Whether a message makes a turn, is context, or neither. Pure.
 * @param takesPart the agent was addressed in this thread before
 */
export function admit(
  binding: Binding,
  message: InboundMessage,
  takesPart: boolean,
  holds: NameHolds,
  findLetIn: FindLetIn = NOBODY_LET_IN,
): Admission {
  const { kind, addressed } = message;
  const why = refusal(binding, message, findLetIn);
  if (why !== null) return { outcome: "ignored", why };
  if (message.isBackground === true) return { outcome: "listened" };
  const isMeant = addressed || !binding.mentionRequired || (kind === "thread" && takesPart);
  if (isMeant && !message.id.startsWith(REACTION_PREFIX) && mayAsk(binding, message, message.author, holds))
    return { outcome: "turn" };
  return binding.listen || kind === "dm"
    ? { outcome: "listened" }
    : { outcome: "ignored", why: "not_addressed" };
}

/** Why the log takes no message of this author there; null: it does. Pure. */
export function refusal(
  binding: Binding,
  message: InboundMessage,
  findLetIn: FindLetIn = NOBODY_LET_IN,
): "bot" | "dm_not_allowed" | null {
  const { author, kind } = message;
  if (author.isBot && !binding.allowBots && !isRoot(message)) return "bot";
  return isStranger(binding, kind, author, findLetIn, message) ? "dm_not_allowed" : null;
}

/** @param said a message from before its author was let in stays unread; left out: checks the person only */
function isStranger(
  { platform, dmAllow, dmLetsIn }: Binding,
  kind: ChannelKind,
  { id }: Pick<Author, "id">,
  findLetIn: FindLetIn,
  said?: Pick<InboundMessage, "id" | "at" | "isBackground">,
): boolean {
  if (kind !== "dm" || dmAllow === null || dmAllow.includes(id)) return false;
  const letIn = dmLetsIn ? findLetIn(platform, id) : null;
  if (letIn === null) return true;
  if (said === undefined) return false;
  const { since, unreadTo, unreadIds } = letIn;
  const wasUnread = unreadIds.includes(said.id) || (unreadTo !== null && said.at < unreadTo);
  // Both clocks may differ: only what is fetched from the past is compared with ours.
  return wasUnread || (said.isBackground === true && said.at < since);
}

/** Whether a person is answered there; the same rule allows commands. Pure. */
export function isAnswered(
  binding: Binding,
  where: ChannelOnPlatform,
  person: Pick<Author, "id" | "roles" | "roleNames">,
  holds: NameHolds,
  findLetIn: FindLetIn = NOBODY_LET_IN,
): boolean {
  return !isStranger(binding, where.kind, person, findLetIn) && mayAsk(binding, where, person, holds);
}

/** Is this a thread's root, also a bot's alarm or our own answer? Both platforms name a thread after it. */
function isRoot({ kind, channel, id, isBackground }: InboundMessage): boolean {
  return kind === "thread" && isBackground === true && id === channel.name;
}

function mayAsk(
  { platform, channels, allowUsers, allowRoles }: Binding,
  { channel, kind, workspace, place }: ChannelOnPlatform,
  { id, roles = [], roleNames = [] }: Pick<Author, "id" | "roles" | "roleNames">,
  holds: NameHolds,
): boolean {
  // `dmAllow` decides on DMs.
  if (kind === "dm" || (allowUsers.length === 0 && allowRoles.length === 0)) return true;
  // By id alone: names can be copied.
  if (allowUsers.includes(id)) return true;
  // A channel that is configured by id belongs to the operator's server.
  const ids = new Set([channel.name, place?.parent?.id, place?.newestId]);
  const isOurs = channels.some((one) => ids.has(one));
  return (
    allowRoles.length > 0 &&
    isNamed(
      allowRoles,
      roles,
      roleNames,
      (name) => isOurs || holds(platform, "role", plainName(name), workspace),
    )
  );
}
