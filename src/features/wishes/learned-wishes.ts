import { escapeLabels } from "../../context/labels.ts";
import type { ChannelId } from "../../core/ids.ts";
import type { Learned, LearnedFor } from "../../core/learned.ts";
import { candidatesToShow } from "./candidates.ts";
import { quotedName } from "../../turn/quoted-name.ts";
import type { Rejection, Wish } from "./wish.ts";

/** Most wishes in one request. */
const MAX_LEARNED = 8;

/** The wishes of a channel, as its history has them. */
export class LearnedWishes implements Learned {
  /** Oldest first. */
  readonly wishes: readonly Wish[];
  /** Answers covered by summaries that people have marked as bad. */
  readonly rejections: readonly Rejection[];

  constructor(wishes: readonly Wish[], rejections: readonly Rejection[]) {
    this.wishes = wishes;
    this.rejections = rejections;
  }

  lines(answer: LearnedFor): readonly string[] {
    return learnedLines(this, answer);
  }

  isSaidElsewhere(channel: ChannelId): boolean {
    return this.wishes.some((one) => one.channel !== channel);
  }
}

/** Wishes as lines: `Answer in Spanish. (asked for by "Ann", "Ben"; not for "Carla")`, `Be brief. (only for "Ann")`. */
function learnedLines(
  { wishes, rejections }: Pick<LearnedWishes, "wishes" | "rejections">,
  { asked, isDirect, now }: LearnedFor,
): string[] {
  const names = new Map([
    ...(isDirect ? wishes.map(({ asker, askerName }) => [asker, askerName] as const) : []),
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
