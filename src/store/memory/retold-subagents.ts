import { setImmediate } from "node:timers/promises";
import type { ChannelId } from "../../core/ids.ts";
import { tellingTerms } from "../../text/terms.ts";
import type { Queryable } from "../database/queryable.ts";
import type { Unsaid } from "./retold.ts";
import { readAsked, SaidTerms } from "./said.ts";

interface RawTelling {
  id: number;
  turn: number;
  /** It has read what goes, whatever its own words are. */
  hasRead: boolean;
  /** Its channel was deleted. */
  isGone: boolean;
  told: string;
}

/**
 * Voids the subagents that have read what is said no more, or tell of it, here and in the channel's threads: that were briefed with it,
 * have found it, or share a term with it which the messages that their turn answers do not have; of a deleted channel all.
 * @param client in a transaction that holds the channel's row lock and has changed the texts
 */
export async function voidRetoldSubagents(
  client: Queryable,
  channel: ChannelId,
  { seqs, terms, keys }: Unsaid,
): Promise<void> {
  const open = await client.query<RawTelling>(
    {
      name: "subagents_behind",
      text: `select s.id, s.turn_id as turn,
                    s.channel_id = $1 and (s.entries && $2::bigint[]
                      or s.brief is not null and exists (select from unnest($2::bigint[]) seq where seq <= s.read_to)) as has_read,
                    c.gone_at is not null as is_gone,
                    concat_ws(E'\\n', s.task, s.brief, s.result, s.steps::text) as told
               from subagents s join channels c on c.id = s.channel_id
              where (s.channel_id = $1 or s.channel_id in (select thread_channels($1))) and s.closed_at is null and s.state <> 'void'
              order by s.id`,
    },
    [channel, seqs],
  );
  const gone: number[] = [];
  for (const { id, turn, hasRead, isGone, told } of open) {
    if (isGone || (hasRead && terms.size > 0)) gone.push(id);
    if (gone.at(-1) === id || terms.size === 0) continue;
    const telling = tellingTerms(told).intersection(terms);
    if (telling.size > 0) {
      const asked = new SaidTerms(await readAsked(client, turn), keys);
      if ((await asked.without(telling)).size > 0) gone.push(id);
    }
    await setImmediate();
  }
  if (gone.length === 0) return;
  await client.query({ name: "subagents_void_retold", text: "select blank_subagents($1, 'void')" }, [gone]);
}
