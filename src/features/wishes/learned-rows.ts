import { BoundedMap } from "../../async/bounded-map.ts";
import type { LearnedDrafts } from "../../core/compaction.ts";
import { NOTHING_LEARNED, type Learned, type LearnedFor } from "../../core/learned.ts";
import type { LearnedRows, LearnedRowsParts } from "../../store/compaction/learned-rows.ts";
import { type WishDraft, WISH_LIST, type Rejection, type Wish } from "./wish.ts";
import { readRejections, readWishes, signWishes } from "./wish-store.ts";
import { escapeLabels } from "../../context/labels.ts";
import type { ChannelId } from "../../core/ids.ts";
import { candidatesToShow } from "./candidates.ts";
import { quotedName } from "../../turn/quoted-name.ts";

const MOST_LOGGED = 10_000;

/** Rows of wishes for histories and jobs. Logs each wish that it does not believe one time. */
export function wishRows({ signer, log }: LearnedRowsParts): LearnedRows {
  const logged = new BoundedMap<true>(MOST_LOGGED);
  return {
    async read(client, channel) {
      const { believed, doubted } = await readWishes(client, channel, signer);
      for (const { id, why } of doubted) {
        if (!logged.has(String(id))) log?.warn({ channel, wish: id, why }, "wish_not_believed");
        logged.set(String(id), true);
      }
      if (believed.length === 0) return NOTHING_LEARNED;
      return new LearnedWishes(believed, await readRejections(client, channel));
    },
    async complete(client, channel, drafts) {
      const onUnsigned = (why: string): void => log?.warn({ why }, "wishes_not_kept");
      const signed = await signWishes(client, channel, draftsIn(drafts), { signer, onUnsigned });
      return signed.length === 0 ? {} : { [WISH_LIST]: signed };
    },
  };
}

function draftsIn(drafts: LearnedDrafts): readonly WishDraft[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `wishList` has made them
  return (drafts[WISH_LIST] ?? []) as readonly WishDraft[];
}

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

  /** `Answer in Spanish. (asked for by "Ann", "Ben"; not for "Carla")`, `Be brief. (only for "Ann")`. */
  lines({ asked, isDirect, now }: LearnedFor): readonly string[] {
    const names = new Map([
      ...(isDirect ? this.wishes.map(({ asker, askerName }) => [asker, askerName] as const) : []),
      ...asked.map(({ authorId, authorName }) => [authorId, authorName] as const),
    ]);
    const named = (ids: ReadonlySet<string>, known: ReadonlyMap<string, string>): string => {
      return [...known.keys()]
        .filter((id) => ids.has(id))
        .slice(-3)
        .map((id) => quotedName(known.get(id) ?? id))
        .join(", ");
    };
    return candidatesToShow(this.wishes, new Set(names.keys()), now, this.rejections)
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

  isSaidElsewhere(channel: ChannelId): boolean {
    return this.wishes.some((one) => one.channel !== channel);
  }
}
