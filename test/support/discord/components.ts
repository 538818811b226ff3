import { ComponentType, type APIButtonComponentWithCustomId } from "discord.js";
import type { MessageRecord } from "./records.ts";

type Shown = Pick<MessageRecord, "content" | "components">;

/** The buttons of a message, also those in a box. */
export function buttonsIn({ components }: Shown): readonly APIButtonComponentWithCustomId[] {
  return components
    .flatMap((one) => (one.type === ComponentType.Container ? one.components : one))
    .flatMap((one) => (one.type === ComponentType.ActionRow ? one.components : []));
}

/** The words of a message as a person sees them: its content, or the texts of its boxes. */
export function wordsIn({ content, components }: Shown): string {
  const texts = components
    .flatMap((one) => (one.type === ComponentType.Container ? one.components : []))
    .flatMap((one) => (one.type === ComponentType.TextDisplay ? one.content : []));
  return [content, ...texts].filter((text) => text !== "").join("\n");
}
