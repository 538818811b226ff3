import type { ChatPlatformConfig } from "../../config/chat-platform.ts";
import { type ChatPlatform, chatPlatform } from "../../platforms/platforms.ts";
import type { ChannelKind } from "../../core/message.ts";
import type { Asker, PlatformCommand } from "../../platforms/platform.ts";
import { isNamed, type NameHolds, plainName } from "../../router/bindings.ts";

/** Who may run what. Pure. */

/** A command as help lists it, and its permission. */
export interface CommandRule extends PlatformCommand {
  /** Who may run it among several people: everybody, the owners, or owners and the person being answered. */
  readonly allowed: "everybody" | "owners" | "answered";
  /** Why others may not; follows the command's name. */
  readonly effect?: string;
}

/** A command as people type it there: `forget 1` is `/forget 1`, `/weir forget 1` or `@weir /forget 1`. */
export type Typed = (command: string) => string;

/** @param prefix the text before a command's name */
export function typedWith(prefix: string): Typed {
  return (command) => prefix + command;
}

export interface CommandPlace {
  readonly platform: string;
  readonly kind: ChannelKind;
  /** Id of the server or team. */
  readonly workspace: string;
  readonly typed: Typed;
  /** Ids of the people who are being answered there. */
  readonly answering: readonly string[];
}

export type OwnersConfig = {
  readonly [Name in ChatPlatform]: Pick<ChatPlatformConfig, "owners" | "ownerRoles"> | null;
} & {
  /** In which servers the names of roles hold. */
  readonly holds: NameHolds;
};

export type Permission = { readonly isAllowed: true } | { readonly isAllowed: false; readonly why: string };

/**
 * May this person run the command there? Only owners may change state for everybody or cause costs. The
 * person who gets an answer may also stop it.
 */
export function mayRun(
  parts: Pick<CommandRule, "name" | "allowed" | "effect">,
  asker: Asker,
  place: CommandPlace,
  config: OwnersConfig,
): Permission {
  const { name, allowed, effect = "changes something for everybody here" } = parts;
  if (allowed === "everybody" || isOwner(asker, place, config)) return { isAllowed: true };
  if (allowed === "answered" && place.answering.includes(asker.id)) return { isAllowed: true };
  const rule =
    allowed === "answered"
      ? `${place.typed(name)} is for whoever is being answered just now, and for owners.`
      : `${place.typed(name)} ${effect}, so it is for owners only.`;
  return { isAllowed: false, why: `${rule} ${howToOwn(place.platform)}` };
}

/** The refusal if only named owners may see something. */
export function forOwners(what: string, platform: string): string {
  return `${what} is for owners only, also in a direct message. ${howToOwn(platform)}`;
}

export function howToOwn(platform: string): string {
  return `Whoever runs Weir names them in config.toml, as owners or owner_roles under [platforms.${platform}].`;
}

/**
 * In a DM every person is an owner, as on the operator's own machine (terminal, loopback). On a chat platform only configured
 * people are owners. People are identified by id alone: names can be copied.
 */
export function isOwner(
  asker: Asker,
  place: Pick<CommandPlace, "platform" | "kind" | "workspace">,
  config: OwnersConfig,
): boolean {
  return place.kind === "dm" || isNamedOwner(asker, place, config);
}

/** As {@link isOwner}, but a DM does not count: an agent's instructions and its model's server are the operator's matter. */
export function isNamedOwner(
  { id, roles, roleNames = [] }: Asker,
  place: Pick<CommandPlace, "platform" | "workspace">,
  config: OwnersConfig,
): boolean {
  const platform = chatPlatform(place.platform);
  if (platform === undefined) return true;
  const { owners = [], ownerRoles = [] } = config[platform] ?? {};
  const holds = (name: string): boolean => config.holds(platform, "role", plainName(name), place.workspace);
  return owners.includes(id) || (ownerRoles.length > 0 && isNamed(ownerRoles, roles, roleNames, holds));
}
