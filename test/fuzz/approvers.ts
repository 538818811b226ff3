import { canonicalArguments } from "../../src/tools/canonical-arguments.ts";
import type { ApprovalRow } from "./approval-rows.ts";
import type { Incarnation } from "./incarnation.ts";
import type { Room } from "./rooms.ts";
import type { Step } from "./schedule.ts";
import { authorOf } from "./texts.ts";
import type { World } from "./world.ts";

type Decide = Extract<Step, { do: "decide" }>;

/** So often somebody decides about what waits, and not about what was decided before. */
const OPEN_SHARE = 0.75;

/** People who allow and deny calls, and a clock that ends their time. */
export class Approvers {
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  async decide(room: Room, { pick, how }: Decide, incarnation: Incarnation): Promise<void> {
    await this.#world.look();
    const chosen = this.#chosen(room, pick, pick < OPEN_SHARE);
    if (chosen !== undefined) await this.#decide(room, chosen, how, incarnation);
  }

  /** The time of one that waits is over: whoever decides then comes too late. */
  async expire(room: Room, pick: number, incarnation: Incarnation): Promise<void> {
    const { probe } = this.#world;
    await this.#world.look();
    const chosen = this.#chosen(room, pick, true);
    if (chosen === undefined) return;
    await probe.query(
      "fuzz_expire",
      "update approvals set expires_at = clock_timestamp() where id = $1 and state = 'open'",
      [chosen.id],
    );
    const isOurs = await this.#decide(room, chosen, "once", incarnation);
    if (isOurs) room.ledger.violate("I21", `approval ${chosen.id} is allowed when its time is over`);
    incarnation.approvals.start();
  }

  #chosen({ state }: Room, pick: number, isOpen: boolean): ApprovalRow | undefined {
    const all = state?.approvals ?? [];
    const some = isOpen ? all.filter((one) => one.state === "open") : all.slice(-8);
    return some[
      Math.floor((isOpen ? pick / OPEN_SHARE : (pick - OPEN_SHARE) / (1 - OPEN_SHARE)) * some.length)
    ];
  }

  async #decide(
    { id: channel }: Room,
    chosen: ApprovalRow,
    how: Decide["how"],
    incarnation: Incarnation,
  ): Promise<boolean> {
    const { id, arguments: json } = chosen;
    const decided = incarnation.approvals
      .decide(channel, id, {
        state: how === "deny" ? "denied" : "allowed",
        by: authorOf(4),
        canonical: how === "always" ? canonicalArguments(json) : null,
        reason: how === "deny" ? "not now" : "",
      })
      .then(({ isOurs }) => isOurs)
      // A cut connection: whoever has pressed does not know.
      .catch(() => false);
    return Promise.race([decided, incarnation.death.then(() => false)]);
  }
}
