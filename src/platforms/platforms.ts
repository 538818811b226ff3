import { discord } from "./discord/row.ts";
import { slack } from "./slack/row.ts";
import type { PlatformRow } from "./row.ts";

/**
 * The chat platforms, in the order in which people are shown them. A new one is a folder and a line here: configuration, commands,
 * checks and pages are made of the rows.
 */
export const PLATFORMS = [discord, slack] as const;

/** `discord`, `slack`, …: the key of a row. */
export type ChatPlatform = (typeof PLATFORMS)[number]["key"];

/** The same rows for whoever treats all alike. A row is only handed the configuration under its own key. */
export const PLATFORM_ROWS: readonly (PlatformRow & { readonly key: ChatPlatform })[] = [...PLATFORMS];

export const CHAT_PLATFORMS: readonly ChatPlatform[] = PLATFORMS.map(({ key }) => key);

/** @returns undefined: that is none of them */
export function platformRow(name: string): (typeof PLATFORM_ROWS)[number] | undefined {
  return PLATFORM_ROWS.find(({ key }) => key === name);
}

/** @returns undefined: that is none of them */
export function chatPlatform(name: string): ChatPlatform | undefined {
  return platformRow(name)?.key;
}

/** The name of a platform as people write it; that of its addresses where it is no chat platform. */
export function platformTitle(name: string): string {
  return platformRow(name)?.title ?? name;
}
