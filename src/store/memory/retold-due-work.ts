import { setImmediate } from "node:timers/promises";
import type { ChannelId, Seq } from "../../core/ids.ts";
import { isExact, tellingTerms } from "../../text/terms.ts";
import type { Queryable } from "../database/queryable.ts";
import { takeRetoldNotes } from "./retold-notes.ts";
import { voidRetoldSubagents } from "./retold-subagents.ts";
import { takeRetoldRules } from "./retold-rules.ts";
import type { Unsaid } from "./retold.ts";
import { readAsked, readLeft, type Said, SaidTerms } from "./said.ts";
import type { Noted } from "./showings.ts";

/** What was taken back goes from reminders, and from work of Weir's own that stands in the log. */

/** Rows that are looked through before something else has its turn. */
const PAGE = 1000;
/** What stands in place of a hand-off whose question was edited: whoever it was handed to still answers. */
const REWORDED = "The message that this was about has changed: answer it as it reads now.";
/** Messages before a text that are looked through for its words. */
const LOOKED_THROUGH = 200;

/** What became of the messages that `Unsaid` is about; `elsewhere`: they stand in another channel. */
export type TakenBack =
  | { readonly kind: "deleted" | "elsewhere" }
  | { readonly kind: "edited"; readonly seq: Seq; readonly text: string };

interface Telling {
  readonly text: string;
  /** The turn whose model wrote it; null: none did, or nobody knows which. */
  readonly turn: number | null;
  /** The message that asked for it; null: none did. */
  readonly asked: Seq | null;
  /** It stands in the log, where people may have said its words before; null: it does not. */
  readonly seq: Seq | null;
}

/**
 * Takes what stands beside the log and tells what is said no more: notes, reminders, what subagents are at work on, and what is allowed
 * from now on.
 * @param client in a transaction that holds the channel's row lock, has changed the texts and has taken the work of Weir's own
 * @returns what the notes told that went, which its threads were shown as well
 */
export async function takeRetoldBesideLog(
  client: Queryable,
  channel: ChannelId,
  unsaid: Unsaid,
  takenBack: TakenBack,
): Promise<Noted> {
  const noted = await takeRetoldNotes(client, channel, unsaid);
  await takeRetoldReminders(client, channel, unsaid, takenBack);
  await voidRetoldSubagents(client, channel, unsaid);
  await takeRetoldRules(client, channel, unsaid);
  return noted;
}

/**
 * Ends the reminders that tell what is said no more, here and in the channel's threads, whose turns may know it. Those that a message
 * asked for which was deleted have gone with it.
 * @param client in a transaction that holds the channel's row lock, has changed the texts and has taken the work of Weir's own
 */
async function takeRetoldReminders(
  client: Queryable,
  channel: ChannelId,
  unsaid: Unsaid,
  takenBack: TakenBack,
): Promise<void> {
  const { seqs } = unsaid;
  const rows = await client.query<Telling & { id: number }>(
    {
      name: "reminders_behind",
      text: `select r.id, r.text, r.turn_id as turn, r.asked_seq as asked, null as seq from reminders r
              where r.channel_id = $1 and r.state = 'active' and (r.read_to >= $2 or r.asked_seq = any($3))
             union all
             select r.id, r.text, r.turn_id, null, null from thread_channels($1) t join reminders r on r.channel_id = t
              where r.state = 'active' and r.read_to is not null`,
    },
    [channel, Math.min(...seqs), seqs],
  );
  const judge = new Judge(client, channel, unsaid, takenBack);
  const gone: number[] = [];
  for (const [index, row] of rows.entries()) {
    if (index % PAGE === PAGE - 1) await setImmediate();
    if (await judge.tells(row)) gone.push(row.id);
  }
  if (gone.length === 0) return;
  await client.query({ name: "reminders_end", text: "select end_reminders($1, 'gone')" }, [gone]);
}

/**
 * Takes work of Weir's own out of the log that tells what is said no more, as a deletion takes a message: occurrences of reminders
 * that a message asked for which was deleted, and all else by its words. A hand-off whose question was edited loses only its words.
 * What the operator has written into the configuration tells of nobody. To be called before all else is looked through: what such a turn has answered may retell it, too.
 * @param client in a transaction that holds the channel's row lock and has changed the texts
 * @returns the entries whose texts went; who calls makes what was summarised with them anew
 */
export async function takeRetoldDueWork(
  client: Queryable,
  channel: ChannelId,
  unsaid: Unsaid,
  takenBack: TakenBack,
): Promise<Seq[]> {
  const { seqs } = unsaid;
  const rows = await client.query<Telling & { seq: Seq; message: string }>(
    {
      name: "due_work_behind",
      text: `select e.seq, e.message_id as message, e.text, r.asked_seq as asked,
                    coalesce(r.turn_id, s.turn_id, a.turn_id, substring(e.message_id from '^handoff/(\\d{1,18})/')::bigint) as turn
               from entries e
               left join reminders r on r.id = reminder_of(e.message_id)
               left join subagents s on s.channel_id = e.channel_id
                     and s.number = substring(e.message_id from '^subagent/(\\d{1,9})(?:/|$)')::integer
               left join approvals a on a.id = substring(e.message_id from '^approval/(\\d{1,15})$')::bigint
              where e.channel_id = $1 and e.seq > $2 and is_due_work(e.message_id)
                and e.deleted_at is null and r.name is null
              order by e.seq`,
    },
    [channel, Math.min(...seqs)],
  );
  const judge = new Judge(client, channel, unsaid, takenBack);
  const gone: Seq[] = [];
  for (const [index, row] of rows.entries()) {
    if (index % PAGE === PAGE - 1) await setImmediate();
    const wasAsked = takenBack.kind === "deleted" && row.asked !== null && seqs.includes(row.asked);
    if (!wasAsked && !(await judge.tells(row))) continue;
    // One after the other: what is gone is no reason for the next to stay.
    if (takenBack.kind === "edited" && row.message.startsWith("handoff/"))
      await client.query({ name: "handoff_reword", text: "select reword_hand_off($1, $2, $3)" }, [
        channel,
        row.seq,
        REWORDED,
      ]);
    else
      await client.query({ name: "delete_message", text: "select seq from delete_message($1, $2)" }, [
        channel,
        row.message,
      ]);
    gone.push(row.seq);
  }
  return gone;
}

/** Whether texts tell what is said no more. */
class Judge {
  readonly #client: Queryable;
  readonly #channel: ChannelId;
  readonly #unsaid: Unsaid;
  readonly #takenBack: TakenBack;

  constructor(client: Queryable, channel: ChannelId, unsaid: Unsaid, takenBack: TakenBack) {
    this.#client = client;
    this.#unsaid = unsaid;
    this.#takenBack = takenBack;
    this.#channel = channel;
  }

  /**
   * What a person typed tells it where its words are not in the message any more. Else: what shares a term with it that the messages
   * which its turn answers do not have; and of what no turn is known for, a word that people have said shortly before tells nothing.
   */
  async tells({ text, turn, asked, seq }: Telling): Promise<boolean> {
    const takenBack = this.#takenBack;
    if (takenBack.kind === "edited" && asked === takenBack.seq && turn === null)
      return !onOneLine(takenBack.text).includes(onOneLine(text));
    const { terms, keys } = this.#unsaid;
    const told = tellingTerms(text).intersection(terms);
    if (told.size === 0) return false;
    const isOf = async (said: readonly Said[]): Promise<boolean> =>
      (await new SaidTerms(said, keys).without(told)).size === 0;
    if (turn !== null) return !(await isOf(await readAsked(this.#client, turn)));
    if (seq === null || [...told].some(isExact)) return true;
    // Only what was said before it: what comes later and is taken back later would not look here again.
    const said = await readLeft(this.#client, this.#channel, seq - LOOKED_THROUGH, seq - 1);
    return !(await isOf(said));
  }
}

function onOneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}
