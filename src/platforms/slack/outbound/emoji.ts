import { emojiNameOf, emojiOf } from "../../shared/emoji.ts";

/** Slack's name of a Unicode emoji; a name stays as it is; null: the name is unknown. */
export function emojiName(emoji: string): string | null {
  const known = emojiNameOf(emoji);
  if (known !== null) return known;
  const name = emoji.replaceAll(/^:|:$/g, "").toLowerCase();
  return /^[\w+\-':]+$/.test(name) ? name : null;
}

/** A reaction as people see it: `👍🏽`, of a workspace's own emoji `:shipit:`. */
export function shownEmoji(name: string): string {
  return emojiOf(name) ?? `:${name.split("::", 1)[0] ?? name}:`;
}
