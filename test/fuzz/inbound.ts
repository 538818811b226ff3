import type { InboundDeletion, InboundEdit, InboundEvent, Receipt } from "../../src/core/message.ts";
import { tablesWith } from "./checks/i12-deleted.ts";
import { PLATFORM, ROOM } from "./chat.ts";
import type { Incarnation } from "./incarnation.ts";
import type { SaidMessage } from "./ledger.ts";
import type { DeletionTarget, Step } from "./schedule.ts";
import { authorOf, editOf, markerOf, textOf } from "./texts.ts";
import type { World } from "./world.ts";

/** What a job summarises last is what its summary names first. */
const NEWEST_OF_JOB = 12;

/**
 * What people do, as a platform hands it in: an event that was not acknowledged, because the daemon died over it, is
 * delivered again to whoever comes next.
 */
export class People {
  readonly #world: World;
  #unacknowledged: InboundEvent[] = [];

  constructor(world: World) {
    this.#world = world;
  }

  async say(step: Extract<Step, { do: "say" }>, incarnation: Incarnation): Promise<SaidMessage> {
    const marker = markerOf(step.n);
    const message = {
      type: "message",
      channel: ROOM,
      kind: "channel",
      workspace: "",
      id: `in-${step.n}`,
      author: authorOf(step.who),
      text: textOf(step.n, step.size),
      at: this.#world.now(),
      addressed: step.reply !== null,
    } as const;
    const said = { message, marker, reply: step.reply, markers: [marker], seq: null };
    this.#world.ledger.add(said);
    await this.#hand(message, incarnation);
    return said;
  }

  async redeliver(pick: number, incarnation: Incarnation): Promise<void> {
    const { said } = this.#world.ledger;
    const chosen = said[Math.floor(pick * said.length)];
    if (chosen === undefined) return;
    // A platform does not deliver again what was deleted meanwhile.
    if (!this.#world.ledger.leaving.has(chosen.marker)) await this.#hand(chosen.message, incarnation);
  }

  async edit(pick: number, n: number, incarnation: Incarnation): Promise<void> {
    const newest = this.#world.ledger.said.slice(-60);
    const chosen = newest[Math.floor(pick * newest.length)];
    if (chosen === undefined || this.#world.ledger.leaving.has(chosen.marker)) return;
    chosen.markers.push(markerOf(n));
    const { id } = chosen.message;
    const text = editOf(chosen.marker, n);
    const edit: InboundEdit = {
      type: "edit",
      platform: PLATFORM,
      channel: ROOM,
      id,
      text,
      at: this.#world.now(),
    };
    await this.#hand(edit, incarnation);
  }

  async delete(target: DeletionTarget, pick: number, incarnation: Incarnation): Promise<void> {
    const candidates = this.#candidates(target);
    const chosen = candidates[Math.floor(pick * candidates.length)];
    if (chosen === undefined) return;
    const { ledger } = this.#world;
    for (const marker of chosen.markers) ledger.leaving.add(marker);
    this.#world.tally.deletions++;
    const { id } = chosen.message;
    const deletion: InboundDeletion = {
      type: "deletion",
      platform: PLATFORM,
      channel: ROOM,
      id,
      at: this.#world.now(),
    };
    await this.#hand(deletion, incarnation);
  }

  /** Delivers again what the last incarnation died over. */
  async repeat(incarnation: Incarnation): Promise<void> {
    const left = this.#unacknowledged;
    this.#unacknowledged = [];
    for (const event of left) await this.#hand(event, incarnation);
  }

  #candidates(target: DeletionTarget): SaidMessage[] {
    const { ledger, state } = this.#world;
    const here = ledger.said.filter(({ marker, seq }) => seq !== null && !ledger.leaving.has(marker));
    const coveredTo = state?.channel.covered_to ?? 0;
    const job = state?.jobs.findLast(({ state: phase }) => phase === "running" || phase === "staged");
    const within = (from: number, to: number): SaidMessage[] =>
      here.filter(({ seq }) => seq !== null && seq >= from && seq <= to);
    const found: Record<DeletionTarget, () => SaidMessage[]> = {
      any: () => here,
      raw: () => within(coveredTo + 1, Infinity),
      covered: () => within(1, coveredTo),
      job: () => (job === undefined ? [] : within(job.from_seq, job.to_seq).slice(-NEWEST_OF_JOB)),
      memory: () => here.filter(({ seq }) => seq !== null && ledger.cited.has(seq)),
      newest: () => here.slice(-3),
      edited: () => here.filter(({ markers }) => markers.length > 1).slice(-3),
    };
    const chosen = found[target]();
    return chosen.length === 0 ? here : chosen;
  }

  async #hand(event: InboundEvent, incarnation: Incarnation): Promise<void> {
    const { ledger } = this.#world;
    let receipt: Receipt | "dead";
    try {
      receipt = await Promise.race([incarnation.router.receive(event), incarnation.death]);
    } catch (error) {
      ledger.violate("error", `an event was refused: ${String(error)}`);
      return;
    }
    if (receipt === "dead") this.#unacknowledged.push(event);
    else if (event.type === "deletion") await this.#deleted(event, receipt);
  }

  async #deleted({ id }: InboundDeletion, receipt: Receipt): Promise<void> {
    const { ledger, probe } = this.#world;
    const said = ledger.byMessageId.get(id);
    if (said === undefined) return;
    ledger.deletions++;
    if (receipt.outcome === "unbound") return;
    for (const marker of said.markers) ledger.gone.add(marker);
    const tables = await tablesWith(probe, said.markers);
    if (tables.length > 0)
      ledger.violate("I12", `the deleted text of ${id} (entry ${said.seq}) is still in ${tables.join(", ")}`);
  }
}
