import type { Sql } from "../chaos/sql.ts";
import { short } from "../chaos/texts.ts";
import type { People, Said } from "./people.ts";
import type { Room, Shown } from "./rooms.ts";
import { marksAnswered } from "./texts.ts";

interface Fate {
  readonly id: string;
  readonly state: string | null;
  /** Ids of the messages in which its turn was told. */
  readonly told: string[] | null;
}

/**
 * What is wrong with the answers, by the platforms' own records: each question has exactly one, in the order in which they were
 * asked. A question that was changed or deleted may have none, or a late one: whoever is not connected hears of neither. One
 * whose turn failed has the notice that says so.
 */
export async function answerProblems(people: People, sql: Sql): Promise<string[]> {
  const fates = new Map(
    (
      await sql.rows<Fate>(
        `select c.platform || ' ' || e.message_id as id, t.state,
                (select array_agg(d.message_id) from deliveries d where d.turn_id = t.id and d.state = 'sent') as told
           from entries e join channels c on c.id = e.channel_id
           left join turns t on t.channel_id = e.channel_id and e.seq between t.from_seq and t.to_seq
          where e.kind = 'user' and e.addressed`,
      )
    ).map((fate) => [fate.id, fate]),
  );
  const problems: string[] = [];
  for (const [room, said] of Map.groupBy(people.said, (one) => one.room)) {
    const shown = (await room.shown()).filter(({ isBots }) => isBots);
    problems.push(...problemsIn(room, said, shown, fates));
  }
  return problems;
}

function problemsIn(
  room: Room,
  said: readonly Said[],
  shown: readonly Shown[],
  fates: ReadonlyMap<string, Fate>,
): string[] {
  const problems: string[] = [];
  const ids = new Set(shown.map(({ id }) => id));
  const answered = shown.flatMap(({ text }) => marksAnswered(text));
  const byMark = Map.groupBy(answered, (mark) => mark);
  for (const one of said) {
    const times = byMark.get(one.mark)?.length ?? 0;
    if (times > 1) {
      const heads = shown.filter(({ text }) => marksAnswered(text).includes(one.mark));
      const what = heads.map(({ id, text }) => `${id} "${short(text)}"`).join(", ");
      problems.push(`${one.mark} was answered ${times} times on ${room.platform}: ${what}`);
    }
    if (times > 0 && !one.asks) problems.push(`${one.mark} on ${room.platform} wanted no answer`);
    if (times > 0 || !one.asks || one.isChanged) continue;
    const fate = fates.get(`${room.platform} ${one.id}`);
    const isTold = fate?.state === "failed" && fate.told?.some((id) => ids.has(id)) === true;
    if (!isTold) {
      const where =
        fate === undefined ? "is not in the log" : `has a turn that is ${fate.state ?? "missing"}`;
      problems.push(`${one.mark} has no answer on ${room.platform}: it ${where}`);
    }
  }
  const changed = new Set(said.filter(({ isChanged }) => isChanged).map(({ mark }) => mark));
  const numbers = answered.filter((mark) => !changed.has(mark)).map((mark) => Number(mark.slice(1)));
  const late = numbers.filter((number, index) => number < Math.max(0, ...numbers.slice(0, index)));
  if (late.length > 0)
    problems.push(`on ${room.platform} answers are out of order: ${late.map((one) => `g${one}`).join(" ")}`);
  return problems;
}
