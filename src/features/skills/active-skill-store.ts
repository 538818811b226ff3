import type { AgentId, ChannelId } from "../../core/ids.ts";
import { storableText } from "../../text/text.ts";
import { Rows } from "../../store/database/rows.ts";

/** Rows of `active_skills`. Left out, `agent` is the channel's own. */
export class ActiveSkillStore extends Rows {
  /** Names, the one that was taken up first before the others. */
  async names(channel: ChannelId, agent?: AgentId): Promise<string[]> {
    const rows = await this.db.query<{ name: string }>(
      "skills_active",
      "select name from active_skills where channel_id = $1 and agent = $2 order by since, name",
      [channel, agent ?? ""],
    );
    return rows.map(({ name }) => name);
  }

  /** In how many channels each skill of each agent is active. */
  async everywhere(): Promise<
    { readonly agent: AgentId; readonly name: string; readonly channels: number }[]
  > {
    return this.db.query(
      "skills_everywhere",
      `select coalesce(nullif(s.agent, ''), c.agent) as agent, s.name, count(*) as channels
         from active_skills s join channels c on c.id = s.channel_id group by 1, 2 order by 1, 2`,
    );
  }

  /** Once or twice is the same. */
  async activate(channel: ChannelId, name: string, agent?: AgentId): Promise<void> {
    await this.db.query(
      "skill_activate",
      "insert into active_skills (channel_id, name, agent) values ($1, $2, $3) on conflict do nothing",
      [channel, name, agent ?? ""],
    );
  }

  /** @param name null: all of them, of all agents @returns the names of those that were active */
  async deactivate(channel: ChannelId, name: string | null, agent?: AgentId): Promise<string[]> {
    const rows = await this.db.query<{ name: string }>(
      "skill_deactivate",
      "delete from active_skills where channel_id = $1 and ($2::text is null or (name = $2 and agent = $3)) returning name",
      [channel, name === null ? null : storableText(name), agent ?? ""],
    );
    return rows.map((row) => row.name);
  }
}
