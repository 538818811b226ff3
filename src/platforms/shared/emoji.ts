import { createRequire } from "node:module";
import { z } from "zod";

/** Emoji by the names that Slack uses, skin tones and joined ones included; of the package `emoji-datasource`. */
interface EmojiNames {
  readonly byName: ReadonlyMap<string, string>;
  /** By the emoji without variation selectors, which people leave out. */
  readonly byEmoji: ReadonlyMap<string, string>;
}

const entries = z.array(
  z.object({
    unified: z.string(),
    short_name: z.string(),
    short_names: z.array(z.string()),
    skin_variations: z.record(z.string(), z.object({ unified: z.string() })).optional(),
  }),
);
/** Slack counts them from 2. */
const TONES = ["1F3FB", "1F3FC", "1F3FD", "1F3FE", "1F3FF"];
const VARIATION = /\uFE0F/g;

let names: EmojiNames | null = null;

/** Loaded on first use: most texts have no emoji by name. */
function emojiNames(): EmojiNames {
  if (names !== null) return names;
  const byName = new Map<string, string>();
  const byEmoji = new Map<string, string>();
  const data: unknown = createRequire(import.meta.url)("emoji-datasource/emoji.json");
  for (const { unified, short_name: own, short_names: all, skin_variations: tones = {} } of entries.parse(
    data,
  )) {
    for (const name of all) byName.set(name, characters(unified));
    byEmoji.set(plain(characters(unified)), own);
    for (const [tone, { unified: toned }] of Object.entries(tones)) {
      const suffix = tone
        .split("-")
        .map((part) => `::skin-tone-${TONES.indexOf(part) + 2}`)
        .join("");
      for (const name of all) byName.set(`${name}${suffix}`, characters(toned));
      byEmoji.set(plain(characters(toned)), `${own}${suffix}`);
    }
  }
  names = { byName, byEmoji };
  return names;
}

function characters(unified: string): string {
  return String.fromCodePoint(...unified.split("-").map((part) => Number.parseInt(part, 16)));
}

function plain(emoji: string): string {
  return emoji.replaceAll(VARIATION, "");
}

/** The emoji of a name without colons, as `+1::skin-tone-4`; null: unknown. */
export function emojiOf(name: string): string | null {
  return emojiNames().byName.get(name.toLowerCase()) ?? null;
}

/** The name of an emoji, without colons; null: it is none, or newer than the names. */
export function emojiNameOf(emoji: string): string | null {
  return emojiNames().byEmoji.get(plain(emoji)) ?? null;
}

/** Not within a word, an address, or the form of an emoji of a place. */
const NAMED = /(?<![\w/<]|<a):([\w+-]+(?:::skin-tone-[2-6]){0,2}):/g;

/** Replaces `:name:` by the emoji; names that are unknown stay. @param custom emoji of a place, by name */
export function withEmoji(text: string, custom: ReadonlyMap<string, string>): string {
  return text.replaceAll(NAMED, (named, name: string) => custom.get(name) ?? emojiOf(name) ?? named);
}

/** True: the text has an emoji by a name that is none of Unicode's. */
export function hasOtherEmoji(text: string): boolean {
  return Array.from(text.matchAll(NAMED)).some(([, name = ""]) => emojiOf(name) === null);
}
