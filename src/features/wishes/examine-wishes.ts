import type { Finding } from "../../core/errors.ts";
import type { Database } from "../../store/database/database.ts";
import type { Signer } from "../../store/database/signing-key.ts";
import { counted } from "../../text/text.ts";
import { doubtedLines } from "./commands.ts";
import { WishStore } from "./wish-store.ts";

/** Are the signed rows those that Weir has written? */
export async function examineWishes(database: Database, signer: Signer): Promise<readonly Finding[]> {
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
