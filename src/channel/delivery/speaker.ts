import { displayName } from "../../text/text.ts";

/** What begins a block of Markdown: behind a name on the same line it would be none. */
const BLOCK = /^\s*(?:```|~~~|#{1,6}\s|[-*+]\s|\d+[.)]\s|>|\||\$\$)/;
/** What Markdown would read as more than a name. */
const MARKUP = /[\\*_`~|<>#@]/g;

/** A text under the name of whoever says it, for a platform that shows one name for all that the bot says. Pure. */
export function underName(name: string, text: string): string {
  const shown = displayName(name).replaceAll(MARKUP, "").trim();
  if (shown === "") return text;
  return `**${shown}:**${BLOCK.test(text) ? "\n" : " "}${text}`;
}
