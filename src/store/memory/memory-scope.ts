import type { AgentId, ChannelId } from "../../core/ids.ts";
import type { ChannelKind } from "../../core/message.ts";
import { Rows } from "../database/rows.ts";

/** Who asks, and where: what a conversation may know of. */
export interface AskingChannel {
  readonly agent: AgentId;
  readonly channel: ChannelId;
  /** "" where the platform has no such thing. */
  readonly workspace: string;
  readonly kind: ChannelKind;
}

/**
 * Where a memory was said: in the channel that asks, in that thread's channel, or in another one whose memories the workspace
 * sees.
 */
export type SaidIn = "here" | "parent" | "workspace";

/**
 * The privacy rule of memories, applied before anything is compared or ranked. A memory of a DM shows in that DM alone, one of a
 * thread in that thread, one of a channel in that channel and its threads. A shared memory of a public channel shows in all
 * channels of its workspace, except those that other organisations read. A memory shows to the agent that remembers it, and to agents to which the
 * configuration opens it (`shared_memories`). The parameters are SQL: the agent, the channel, its workspace and its
 * kind.
 */
function scopesOf(agent: string, channel: string, workspace: string, kind: string): Record<SaidIn, string> {
  // Looked up once, before the memories.
  const isTold = `m.agent = any(array(select s.other from shared_memories s where s.agent = ${agent}) || ${agent}::text)`;
  return {
    here: `${isTold} and m.channel_id = ${channel} and (m.scope <> 'dm' or ${kind} = 'dm')`,
    // A thread's people see its channel.
    parent: `${isTold} and m.scope <> 'dm' and m.channel_id = ${parentOf(channel, kind)}`,
    // By what the platform says of both channels now, and not only when it was said.
    workspace: `${isTold} and m.scope = 'workspace' and m.workspace = ${workspace} and ${workspace} <> '' and ${kind} <> 'dm'
      and exists (
        select from channels source join channels asking on asking.id = ${channel} and asking.platform = source.platform
         where source.id = m.channel_id and source.kind = 'channel' and not source.is_private and source.shares_memory
           and source.gone_at is null and asking.place->'isExternal' is null)`,
  };
}

/** Id of a thread's channel; null: it is no thread. The parameters are SQL. */
function parentOf(channel: string, kind: string): string {
  return `(
      select parent.id from channels thread
        join channels parent on parent.platform = thread.platform and parent.name = thread.place->'parent'->>'id'
                            and parent.workspace = thread.workspace and parent.kind = 'channel'
       where ${kind} = 'thread' and thread.id = ${channel} and thread.kind = 'thread')`;
}

export function seenBy(...asker: Parameters<typeof scopesOf>): string {
  return `((${Object.values(scopesOf(...asker)).join(")\n      or (")}))`;
}

/** $1 agent, $2 channel, $3 workspace, $4 kind of the channel that asks. */
const SCOPES = scopesOf("$1", "$2", "$3", "$4");
/** Id of the channel of the thread that asks. */
export const ASKING_PARENT = parentOf("$2", "$4");
export const IN_SCOPE = seenBy("$1", "$2", "$3", "$4");
export const SAID_IN = `case when ${SCOPES.here} then 'here' when ${SCOPES.parent} then 'parent' else 'workspace' end`;
/** Is shown in its place: by an older memory that says the same in other words, and holds. Of `memories m`. */
export const IS_FOLDED = `(m.same_as is not null and exists (
  select from memories o where o.id = m.same_as and o.valid_to is null and o.scope = m.scope))`;
const HOLDS = `m.valid_to is null and not ${IS_FOLDED}`;
export const VISIBLE = `${IN_SCOPE} and ${HOLDS}`;

/**
 * What is visible and fulfils a condition. The parts each have an index of their own; one condition with an OR would use none.
 * Together they have each memory once.
 * @param state default: memories that hold
 */
export function visibleMemories(condition: string, state = HOLDS): string {
  return [
    SCOPES.here,
    SCOPES.parent,
    `${SCOPES.workspace} and m.channel_id <> $2 and (${SCOPES.parent}) is not true`,
  ]
    .map((part) => `select * from memories m where ${part} and ${state} and ${condition}`)
    .join("\n      union all\n      ");
}

/** $1 to $4 of what is visible. */
export function askedBy({ agent, channel, workspace, kind }: AskingChannel): unknown[] {
  return [agent, channel, workspace, kind];
}

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
