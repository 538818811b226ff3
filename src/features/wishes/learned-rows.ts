import { BoundedMap } from "../../async/bounded-map.ts";
import type { LearnedDrafts } from "../../core/compaction.ts";
import { NOTHING_LEARNED } from "../../core/learned.ts";
import type { LearnedRows, LearnedRowsParts } from "../../store/compaction/learned-rows.ts";
import { LearnedWishes } from "./learned-wishes.ts";
import { type WishDraft, WISH_LIST } from "./wish.ts";
import { readRejections, readWishes, signWishes } from "./wish-store.ts";

/** Most wishes remembered as logged. */
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
