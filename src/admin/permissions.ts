import { CHAT_PLATFORMS, type ChatPlatformConfig } from "../config/config.ts";
import type { ChannelKind } from "../core/message.ts";
import type { Asker } from "../platforms/platform.ts";
import { allowedTo, type CommandName } from "./command-table.ts";

/** Who may run what. Pure. */

/** Where a command is given. */
export interface CommandPlace {
  readonly platform: string;
  readonly kind: ChannelKind;
  /** Ids of the people who are being answered there just now. */
  readonly answering: readonly string[];
}

/** Who owns channels, as it is configured. */
export type OwnersConfig = {
  readonly [Name in (typeof CHAT_PLATFORMS)[number]]: Pick<
    ChatPlatformConfig,
    "owners" | "ownerRoles"
  > | null;
};

export type Permission = { readonly isAllowed: true } | { readonly isAllowed: false; readonly why: string };

/** Why others may not, in words that follow the command. */
const EFFECT: Partial<Record<CommandName, string>> = {
  reset: "changes the conversation for everybody here",
  compact: "costs model calls, and changes what everybody here is answered from",
  summarize: "costs model calls, and changes what everybody here is answered from",
};

/**
 * May this person run the command there? What changes state for everybody, or costs money, is the owners'; an answer
 * may also be stopped by the one who gets it.
 */
export function mayRun(
  command: CommandName,
  asker: Asker,
  place: CommandPlace,
  config: OwnersConfig,
): Permission {
  const allowed = allowedTo(command);
  if (allowed === "everybody" || isOwner(asker, place, config)) return { isAllowed: true };
  if (allowed === "answered" && place.answering.includes(asker.id)) return { isAllowed: true };
  const rule =
    allowed === "answered"
      ? `/${command} is for whoever is being answered just now, and for owners.`
      : `/${command} ${EFFECT[command] ?? "changes something for everybody here"}, so it is for owners only.`;
  return { isAllowed: false, why: `${rule} ${howToOwn(place.platform)}` };
}

/** Who becomes an owner, and how. */
export function howToOwn(platform: string): string {
  return `Whoever runs Weir names them in config.toml, as owners or owner_roles under [platforms.${platform}].`;
}

/**
 * In a DM everybody is the owner. Where people are on the operator's own machine (terminal, loopback) everybody is, too;
 * on a platform of people's chat only who is configured. People count by their ids alone: anybody can take a name.
 */
export function isOwner(
  asker: Asker,
  place: Pick<CommandPlace, "platform" | "kind">,
  config: OwnersConfig,
): boolean {
  const platform = CHAT_PLATFORMS.find((name) => name === place.platform);
  if (place.kind === "dm" || platform === undefined) return true;
  const { owners = [], ownerRoles = [] } = config[platform] ?? {};
  const roles = new Set(asker.roles.map(plainRole));
  return owners.includes(asker.id) || ownerRoles.some((role) => roles.has(plainRole(role)));
}

/** `@Moderators` is `moderators`. */
function plainRole(name: string): string {
  return name.trim().replace(/^@/, "").toLowerCase();
}
