import type { AgentId } from "../../core/ids.ts";
import { Rows } from "../database/rows.ts";

/** Which agents see the memories of which other agents. */
export class SharedMemoryStore extends Rows {
  /**
   * Replaces the lists of other agents whose memories these agents see.
   * @param shared by agent; agents that are not among them are left as they are
   */
  async open(shared: ReadonlyMap<AgentId, readonly string[]>): Promise<void> {
    const pairs = [...shared].flatMap(([agent, others]) => others.map((other) => [agent, other] as const));
    await this.db.query(
      "memories_share",
      `with wanted as (select * from unnest($2::text[], $3::text[]) w (agent, other)),
            ended as (delete from shared_memories s
                       where s.agent = any($1) and not exists (
                         select from wanted w where w.agent = s.agent and w.other = s.other))
       insert into shared_memories (agent, other) select distinct agent, other from wanted on conflict do nothing`,
      [[...shared.keys()], pairs.map(([agent]) => agent), pairs.map(([, other]) => other)],
    );
  }
}
