import { randomUUID } from "node:crypto";
import { DueWorkDesk } from "../../../src/channel/due-work.ts";
import type { Owner, TurnId } from "../../../src/core/ids.ts";
import {
  type Subagent,
  type SaveOutcome,
  SubagentStore,
} from "../../../src/features/subagents/subagent-store.ts";
import type { Database } from "../../../src/store/database/database.ts";
import type { Mutant } from "./mutant.ts";
import { patched } from "./patched.ts";
import { changeFunction } from "./sql.ts";

type Begin = Parameters<SubagentStore["begin"]>;
type Save = Parameters<SubagentStore["save"]>;

/** Does not know its own subagents again. */
class ForgetfulBegins extends SubagentStore {
  override async begin(
    owner: Owner,
    turn: TurnId,
    { draft, ...rest }: Begin[2],
  ): ReturnType<SubagentStore["begin"]> {
    return super.begin(owner, turn, { ...rest, draft: { ...draft, key: randomUUID().slice(0, 32) } });
  }
}

/** Sets one to work, and writes its row when it has done something. */
class LateRows extends SubagentStore {
  readonly #pending = new Map<number, Begin>();
  readonly #real = new Map<number, number>();
  #last = 1_000_000;

  override async begin(...args: Begin): ReturnType<SubagentStore["begin"]> {
    const id = this.#last++;
    this.#pending.set(id, args);
    return Promise.resolve({ outcome: "begun", id });
  }

  override async take(owner: Owner, id: number): Promise<Subagent | null> {
    const [, turn, wanted] = this.#pending.get(id) ?? [];
    if (turn === undefined || wanted === undefined) return super.take(owner, id);
    const { draft } = wanted;
    const row = { id, number: id, turn, readTo: draft.askedSeq ?? 0, state: "running", result: "" } as const;
    return { ...draft, ...row, steps: [], begun: 1, spentMs: 0, toldWith: null };
  }

  override async save(owner: Owner, id: number, change: Save[2]): Promise<SaveOutcome> {
    await this.#write(id);
    return super.save(owner, this.#real.get(id) ?? id, change);
  }

  override async tellCall(owner: Owner, id: number, callId: string): ReturnType<SubagentStore["tellCall"]> {
    await this.#write(id);
    return super.tellCall(owner, this.#real.get(id) ?? id, callId);
  }

  async #write(id: number): Promise<void> {
    const args = this.#pending.get(id);
    this.#pending.delete(id);
    if (args === undefined) return;
    const begun = await super.begin(...args);
    if (typeof begun !== "string") this.#real.set(id, begun.id);
  }
}

/** Goes on with one as if it had done nothing. */
class StepsLost extends SubagentStore {
  override async take(owner: Owner, id: number): Promise<Subagent | null> {
    const row = await super.take(owner, id);
    return row === null ? null : { ...row, steps: [] };
  }
}

/** Closes none of which its agent was told. */
class NeverClosed extends SubagentStore {
  override async close(): Promise<void> {
    return Promise.resolve();
  }
}

/** Tells of it as often as somebody asks. */
class ToldAgain extends SubagentStore {
  readonly #db: Database;

  constructor(db: Database) {
    super(db);
    this.#db = db;
  }

  override async tellCall(owner: Owner, id: number, callId: string): ReturnType<SubagentStore["tellCall"]> {
    const told = await super.tellCall(owner, id, callId);
    if (told?.state !== "running")
      await this.#db.query(
        "fuzz_untell",
        "update subagents set told = null where id = $1 and closed_at is null",
        [id],
      );
    return told;
  }
}

/** Whoever begins a subagent, the channel's own agent is told of it. */
function toldToTheOwn(): () => void {
  return patched(
    DueWorkDesk.prototype,
    "add",
    (add) =>
      async function anybody(this: DueWorkDesk, channel, work) {
        const { id, title, text, at, by } = work;
        return add.call(this, channel, { id, title, text, at, ...(by !== undefined && { by }) });
      },
  );
}

/** Wrong ways of subagents. */
export const SUBAGENT_MUTANTS: readonly Mutant[] = [
  {
    name: "a turn that runs again begins another subagent",
    breaks: ["I20"],
    subagents: (db) => new ForgetfulBegins(db),
  },
  {
    name: "a subagent works before its row is there",
    breaks: ["I20"],
    subagents: (db) => new LateRows(db),
  },
  {
    name: "a subagent begins from nothing",
    breaks: ["I20"],
    subagents: (db) => new StepsLost(db),
  },
  {
    name: "a subagent stays open",
    breaks: ["I14", "I20"],
    subagents: (db) => new NeverClosed(db),
  },
  {
    name: "a subagent is told twice",
    breaks: ["I20"],
    subagents: (db) => new ToldAgain(db),
  },
  {
    name: "told by a call whose result is not there",
    breaks: ["I20"],
    install: async (db) =>
      changeFunction(db, "settle_subagents", [
        [
          "when s.told = 'call' and exists (\n             select from entries e where e.channel_id = p_channel and e.turn_id = s.turn_id and e.kind = 'tool_result'\n                and e.data->>'call_id' = s.call_id) then 'call'",
          "when s.told = 'call' then 'call'",
        ],
      ]),
  },
  { name: "a guest's subagents are told to the channel's agent", breaks: ["I20"], patch: toldToTheOwn },
  {
    name: "a subagent outlives a deletion",
    breaks: ["I12"],
    install: async (db) =>
      changeFunction(db, "blank_subagents", [
        ["where s.id = any (p_ids) and", "where s.id = any (p_ids) and p_state is distinct from 'void' and"],
      ]),
  },
];
