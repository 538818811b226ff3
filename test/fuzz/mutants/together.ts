import { GuestTurns } from "../../../src/channel/turns/guest-turns.ts";
import type { TurnRange } from "../../../src/core/history.ts";
import { type AgentId, type Owner, type Seq, turnId } from "../../../src/core/ids.ts";
import type { Database } from "../../../src/store/database/database.ts";
import { draftMessage, draftRecord } from "../../../src/store/log/message-rows.ts";
import type { RunningTurn } from "../../../src/store/turns/turn-rows.ts";
import { type Settled, type Settlement, TurnStore } from "../../../src/store/turns/turns.ts";
import type { Mutant } from "./mutant.ts";
import { patched } from "./patched.ts";

/** Hands over before the turn ends. */
class HastyTurns extends TurnStore {
  readonly #db: Database;

  constructor(db: Database) {
    super(db);
    this.#db = db;
  }

  override async settle(
    owner: Owner,
    turn: TurnRange,
    { handOff, ...settlement }: Settlement,
    at: Date,
  ): Promise<Settled> {
    if (handOff === undefined) return super.settle(owner, turn, settlement, at);
    const draft = draftMessage(handOff);
    const [row] = await this.#db.query<{ seq: Seq }>(
      "settle_handing_over",
      "select seq from append_messages($1, $2)",
      [owner.channel, JSON.stringify([draftRecord(draft)])],
    );
    const settled = await super.settle(owner, turn, settlement, at);
    return { ...settled, handedOver: row === undefined ? null : { ...draft, seq: row.seq } };
  }
}

/** Takes all that is due, whoever is asked. */
class GreedyTurns extends TurnStore {
  readonly #db: Database;

  constructor(db: Database) {
    super(db);
    this.#db = db;
  }

  override async begin(owner: Owner, fromSeq: Seq, toSeq: Seq, agent?: AgentId): Promise<RunningTurn | null> {
    const [row] = await this.#db.query<{ seq: Seq }>(
      "fuzz_due_to",
      "select max(seq) as seq from entries where channel_id = $1 and addressed",
      [owner.channel],
    );
    return super.begin(owner, fromSeq, Math.max(toSeq, row?.seq ?? 0), agent);
  }
}

/** Begins a turn again without a look at whose it is. */
class AnybodysTurns extends TurnStore {
  override async beginAgain(
    owner: { epoch: number },
    turn: RunningTurn,
    failures: number,
  ): Promise<RunningTurn> {
    const { agent: _, ...again } = await super.beginAgain(owner, turn, failures);
    return again;
  }
}

/** Takes a message in, and does not write it down. */
class ForgetfulTurns extends TurnStore {
  override async takeIn(): Promise<void> {}
}

/** Counts no hops. */
class EndlessTurns extends TurnStore {
  override async settle(owner: Owner, turn: TurnRange, settlement: Settlement, at: Date): Promise<Settled> {
    const { handOff } = settlement;
    if (handOff === undefined) return super.settle(owner, turn, settlement, at);
    return super.settle(
      owner,
      turn,
      { ...settlement, handOff: { ...handOff, chain: { id: turn.id, hop: 1 } } },
      at,
    );
  }
}

/** Gives a guest's turn what the channel's own requests keep. */
function sharingUsage(): () => void {
  return patched(
    GuestTurns.prototype,
    "of",
    (of) =>
      function shared(this: GuestTurns, turn: TurnRange) {
        const { request } = of.call(this, { id: turnId(0), fromSeq: turn.fromSeq, toSeq: turn.toSeq });
        return { ...of.call(this, turn), request };
      },
  );
}

/** Wrong ways of several agents in one channel. */
export const TOGETHER_MUTANTS: readonly Mutant[] = [
  {
    name: "handed over before the turn ends",
    breaks: ["I19"],
    store: (store, db) => ({ ...store, turns: new HastyTurns(db) }),
  },
  {
    name: "takes all that is due",
    breaks: ["I19"],
    store: (store, db) => ({ ...store, turns: new GreedyTurns(db) }),
  },
  {
    name: "a turn goes on as another agent's",
    breaks: ["I19"],
    store: (store, db) => ({ ...store, turns: new AnybodysTurns(db) }),
  },
  {
    name: "hops without a bound",
    breaks: ["I19"],
    store: (store, db) => ({ ...store, turns: new EndlessTurns(db) }),
  },
  {
    name: "a message is taken in and not written down",
    breaks: ["I9"],
    store: (store, db) => ({ ...store, turns: new ForgetfulTurns(db) }),
  },
  { name: "a guest's requests count as the channel's", breaks: ["I6"], ratio: 1.2, patch: sharingUsage },
];
