/**
 * Wishes: how people want to be answered. The model that writes a summary also saves the wishes in its entries (`wish-gates.ts`), and they
 * are stored with the summary's commit (`learned-rows.ts`). Candidates, made of wishes that say the same (`candidates.ts`), stand in the
 * prompt once enough people ask for them.
 */

import type { Feature } from "../feature.ts";
import { endLearned, learnedCommand, learnedLists } from "./commands.ts";
import { examineWishes } from "./examine-wishes.ts";
import { WISHES } from "./key.ts";
import { wishList } from "./wish-gates.ts";
import { WishStore } from "./wish-store.ts";

export const wishes: Feature<WishStore, null> = {
  key: WISHES,
  commands: [{ command: learnedCommand, after: "remember" }],
  numbered: { letter: "l", end: endLearned },
  saveList: wishList,
  examine: examineWishes,
  open: ({ database, signer, now }) => {
    const service = new WishStore(database, signer);
    return {
      service,
      channelLists: async (channel, time) => learnedLists(service, channel, { time, now: now() }),
    };
  },
};
