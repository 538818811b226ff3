import { escapeLabels } from "../context/labels.ts";
import type { AskedMessage } from "../context/sections/section.ts";
import type { History } from "../core/history.ts";
import { candidatesToShow } from "../memory/candidates.ts";
import { quotedName } from "./quoted-name.ts";

/** The author of a message that a turn answers. */
export interface AskedBy extends AskedMessage {
  readonly authorName: string;
}

/** Most wishes in one request. */
const MAX_LEARNED = 8;

/** Wishes as lines: `Answer in Spanish. (asked for by "Ann", "Ben"; not for "Carla")`, `Be brief. (only for "Ann")`. */
export function learnedLines(
  { wishes, rejections }: History,
  asked: readonly AskedBy[],
  { isDirect }: { readonly isDirect?: true },
  now: Date,
): string[] {
  const names = new Map([
    ...(isDirect === true ? wishes.map(({ asker, askerName }) => [asker, askerName] as const) : []),
    ...asked.map(({ authorId, authorName }) => [authorId, authorName] as const),
  ]);
  const named = (ids: ReadonlySet<string>, known: ReadonlyMap<string, string>): string => {
    return [...known.keys()]
      .filter((id) => ids.has(id))
      .slice(-3)
      .map((id) => quotedName(known.get(id) ?? id))
      .join(", ");
  };
  return candidatesToShow(wishes, new Set(names.keys()), now, rejections)
    .slice(0, MAX_LEARNED)
    .map(({ wish, wishes: said, wantedBy, refusedBy, only }) => {
      const askers = new Map(said.map(({ asker, askerName }) => [asker, askerName]));
      const except = named(refusedBy, names);
      const whom =
        only === null
          ? `asked for by ${named(wantedBy, askers)}${except === "" ? "" : `; not for ${except}`}`
          : `only for ${named(only, askers)}`;
      return `${escapeLabels(wish)} (${whom})`;
    });
}
