import { CHAT_PLATFORMS, type ChatPlatformConfig } from "../config/config.ts";
import type { ChannelKind } from "../core/message.ts";
import type { Asker } from "../platforms/platform.ts";
import { isNamed, type NameHolds, plainName } from "../router/bindings.ts";
import type { Command, Typed } from "./command.ts";

/** Who may run what. Pure. */

/** Where a command is given. */
export interface CommandPlace {
  readonly platform: string;
  readonly kind: ChannelKind;
  /** Id of the server or team. */
  readonly workspace: string;
  /** How a command is typed there. */
  readonly typed: Typed;
  /** Ids of the people who are being answered there just now. */
  readonly answering: readonly string[];
}

/** Who owns channels, as it is configured. */
export type OwnersConfig = {
  readonly [Name in (typeof CHAT_PLATFORMS)[number]]: Pick<
    ChatPlatformConfig,
    "owners" | "ownerRoles"
  > | null;
} & {
  /** In which servers the names of roles hold. */
  readonly holds: NameHolds;
};

export type Permission = { readonly isAllowed: true } | { readonly isAllowed: false; readonly why: string };

/**
 * May this person run the command there? What changes state for everybody, or costs money, is the owners'; an answer
 * may also be stopped by the one who gets it.
 */
export function mayRun(
  {
    name,
    allowed,
    effect = "changes something for everybody here",
  }: Pick<Command, "name" | "allowed" | "effect">,
  asker: Asker,
  place: CommandPlace,
  config: OwnersConfig,
): Permission {
  if (allowed === "everybody" || isOwner(asker, place, config)) return { isAllowed: true };
  if (allowed === "answered" && place.answering.includes(asker.id)) return { isAllowed: true };
  const rule =
    allowed === "answered"
      ? `${place.typed(name)} is for whoever is being answered just now, and for owners.`
      : `${place.typed(name)} ${effect}, so it is for owners only.`;
  return { isAllowed: false, why: `${rule} ${howToOwn(place.platform)}` };
}

/** Who is refused what belongs to whoever runs Weir. */
export function forOwners(what: string, platform: string): string {
  return `${what} is for owners only, also in a direct message. ${howToOwn(platform)}`;
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
  place: Pick<CommandPlace, "platform" | "kind" | "workspace">,
  config: OwnersConfig,
): boolean {
  return place.kind === "dm" || isNamedOwner(asker, place, config);
}

/**
 * As {@link isOwner}, but that a DM makes nobody an owner: what an agent is told to do and where its model runs is no
 * matter of a conversation.
 */
export function isNamedOwner(
  { id, roles, roleNames = [] }: Asker,
  place: Pick<CommandPlace, "platform" | "workspace">,
  config: OwnersConfig,
): boolean {
  const platform = CHAT_PLATFORMS.find((name) => name === place.platform);
  if (platform === undefined) return true;
  const { owners = [], ownerRoles = [] } = config[platform] ?? {};
  const holds = (name: string): boolean => config.holds(platform, "role", plainName(name), place.workspace);
  return owners.includes(id) || (ownerRoles.length > 0 && isNamed(ownerRoles, roles, roleNames, holds));
}
