/**
 * Wishes: how people want to be answered. The model that writes a summary also saves the wishes in its entries (`wish-gates.ts`), and they
 * are stored with the summary's commit (`learned-rows.ts`). Candidates, made of wishes that say the same (`candidates.ts`), stand in the
 * prompt once enough people ask for them.
 */

import type { Feature } from "../feature.ts";
import { endLearned, learnedCommand, learnedLists, doubtedLines } from "./commands.ts";
import { WISHES } from "./key.ts";
import { wishList } from "./wish-gates.ts";
import { WishStore } from "./wish-store.ts";
import type { Finding } from "../../core/errors.ts";
import type { Database } from "../../store/database/database.ts";
import type { Signer } from "../../store/database/signing-key.ts";
import { counted } from "../../text/text.ts";

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

/** Are the signed rows those that Weir has written? */
async function examineWishes(database: Database, signer: Signer): Promise<readonly Finding[]> {
  const what = "wishes";
  const { believed, doubted } = await new WishStore(database, signer).all();
  const detail = doubtedLines(doubted).join(" ");
  const todo =
    "if another Weir on this database has signed them, give both the same signing.key in their data folders; else see who " +
    "writes to the database, and delete these rows of the table wishes";
  if (detail !== "") return [{ what, state: "wrong", detail, todo }];
  const all = `${counted(believed.length, "row")}, signed by this Weir`;
  return believed.length === 0 ? [] : [{ what, state: "ok", detail: all }];
}
