import type { InboundDeletion, InboundEdit, InboundEvent, Receipt } from "../../src/core/message.ts";
import type { Incarnation } from "./incarnation.ts";
import type { SaidMessage } from "./ledger.ts";
import { observeIsExpired, observeLastJob, type SummaryRow } from "./observe.ts";
import { SECOND_AGENT } from "./profile.ts";
import type { Room } from "./rooms.ts";
import type { DeletionTarget, Step } from "./schedule.ts";
import { authorOf, editOf, markerOf, textOf } from "./texts.ts";
import type { World } from "./world.ts";

/** What a job summarises last is what its summary names first. */
const NEWEST_OF_JOB = 12;

/** Newest messages of which one is edited. */
const EDITED_AMONG = 60;
/** Later than what the database has by now, whatever its clock says, ms. */
const LATER_MS = 60_000;
/** Between the numbers of edits of one step: no step has as high a one. */
const AGAIN = 36 ** 3;

type Range = Pick<SummaryRow, "from_seq" | "to_seq">;

/** What is said, without where. */
export type Said = Pick<Extract<Step, { do: "say" }>, "n" | "who" | "size" | "reply" | "isForGuest">;

interface Handed {
  readonly room: Room;
  readonly event: InboundEvent;
}

/**
 * What people do, as a platform hands it in: an event that was not acknowledged, because the daemon died over it, is
 * delivered again to whoever comes next.
 */
export class People {
  readonly #world: World;
  #unacknowledged: Handed[] = [];

  constructor(world: World) {
    this.#world = world;
  }

  async say(room: Room, said: Said, incarnation: Incarnation): Promise<SaidMessage> {
    const { n, who, size, reply, isForGuest } = said;
    const marker = markerOf(n);
    const message = {
      type: "message",
      channel: room.address,
      kind: room.kind,
      workspace: "",
      ...(room.place !== undefined && { place: room.place }),
      id: `in-${n}`,
      author: authorOf(who),
      text: textOf(n, size, isForGuest ? `@${SECOND_AGENT} ` : ""),
      at: this.#world.now(),
      addressed: reply !== null,
    } as const;
    const known = { message, marker, reply, markers: [marker], seq: null };
    room.ledger.add(known);
    await this.#hand({ room, event: message }, incarnation);
    return known;
  }

  /** A platform delivers a message again, unless it was deleted meanwhile. */
  async again(room: Room, { message, marker }: SaidMessage, incarnation: Incarnation): Promise<void> {
    if (!room.ledger.leaving.has(marker)) await this.#hand({ room, event: message }, incarnation);
  }

  async redeliver(room: Room, pick: number, incarnation: Incarnation): Promise<void> {
    const { said } = room.ledger;
    const chosen = said[Math.floor(pick * said.length)];
    if (chosen !== undefined) await this.again(room, chosen, incarnation);
  }

  /** People edit one of the newest messages, and others that were edited before: those say no more what they said since. */
  async edit(room: Room, pick: number, n: number, incarnation: Incarnation): Promise<void> {
    const newest = room.ledger.said
      .slice(-EDITED_AMONG)
      .filter(({ marker }) => !room.ledger.leaving.has(marker));
    const again = this.#editedBefore(room).map((edited) => edited[Math.floor(pick * edited.length)]);
    await this.#reword(room, newest[Math.floor(pick * newest.length)], n, incarnation);
    for (const [index, said] of again.entries())
      await this.#reword(room, said, n + AGAIN * (index + 1), incarnation);
  }

  async #reword(
    { ledger, address, ...room }: Room,
    chosen: SaidMessage | undefined,
    n: number,
    incarnation: Incarnation,
  ): Promise<void> {
    if (chosen === undefined || ledger.leaving.has(chosen.marker)) return;
    chosen.markers.push(markerOf(n));
    ledger.own.add(markerOf(n));
    if (ledger.isPrivate || ledger.hidden.has(chosen.marker)) ledger.hidden.add(markerOf(n));
    // Nobody can say which words of such a text went: it goes as a whole.
    const isDeletion = await observeIsExpired(this.#world.probe, room.id, chosen.message.id);
    if (isDeletion) for (const marker of chosen.markers) ledger.leaving.add(marker);
    const now = this.#world.now();
    const event: InboundEdit = {
      type: "edit",
      platform: address.platform,
      channel: address,
      id: chosen.message.id,
      text: editOf(chosen.marker, n),
      // The database says by its own clock when it came to know the message.
      at: isDeletion ? new Date(Math.max(now.getTime(), Date.now() + LATER_MS)) : now,
    };
    ledger.edits++;
    ledger.editing.add(markerOf(n));
    await this.#hand({ room: { ledger, address, ...room }, event }, incarnation);
    ledger.editing.delete(markerOf(n));
  }

  /**
   * What was edited before: what a summary of later messages tells, what is being summarised, what was called with, and what its own
   * summary tells, or anything.
   */
  #editedBefore({ ledger, state }: Room): SaidMessage[][] {
    const edited = ledger.said.filter(
      ({ markers, marker }) => markers.length > 1 && !ledger.leaving.has(marker),
    );
    const within = (seq: number | null, { from_seq: from, to_seq: to }: Range): boolean =>
      seq !== null && seq >= from && seq <= to;
    const written = (state?.summaries ?? []).filter((one) => one.live);
    const isTold = ({ seq, markers }: SaidMessage, byOwn: boolean): boolean =>
      written.some((one) => one.text.includes(markers.at(-1) ?? "") && within(seq, one) === byOwn);
    const told = edited.filter((one) => isTold(one, true));
    const live = (state?.jobs ?? []).filter((job) => job.state === "running" || job.state === "staged");
    return [
      edited.filter((one) => isTold(one, false)),
      edited.filter(({ seq }) => live.some((job) => within(seq, job))),
      edited.filter(({ markers }) => ledger.called.has(markers.at(-1) ?? "")).slice(-NEWEST_OF_JOB),
      told.length > 0 ? told : edited.slice(-EDITED_AMONG),
    ];
  }

  async delete(room: Room, target: DeletionTarget, pick: number, incarnation: Incarnation): Promise<void> {
    const candidates = this.#candidates(room, target);
    const chosen = candidates[Math.floor(pick * candidates.length)];
    if (chosen === undefined) return;
    const { ledger, address } = room;
    for (const marker of chosen.markers) ledger.leaving.add(marker);
    this.#world.tally.deletions++;
    const event: InboundDeletion = {
      type: "deletion",
      platform: address.platform,
      channel: address,
      id: chosen.message.id,
      at: this.#world.now(),
    };
    await this.#hand({ room, event }, incarnation);
  }

  /** Delivers again what the last incarnation died over. */
  async repeat(incarnation: Incarnation): Promise<void> {
    const left = this.#unacknowledged;
    this.#unacknowledged = [];
    for (const one of left) await this.#hand(one, incarnation);
  }

  #candidates({ ledger, state }: Room, target: DeletionTarget): SaidMessage[] {
    const here = ledger.said.filter(({ marker, seq }) => seq !== null && !ledger.leaving.has(marker));
    const coveredTo = state?.channel.covered_to ?? 0;
    const live =
      state?.jobs.filter(({ state: phase }) => ["running", "staged", "ahead"].includes(phase)) ?? [];
    const job = live.find(({ state: phase }) => phase === "ahead") ?? live.at(-1);
    const within = (from: number, to: number): SaidMessage[] =>
      here.filter(({ seq }) => seq !== null && seq >= from && seq <= to);
    const found: Record<DeletionTarget, () => SaidMessage[]> = {
      any: () => here,
      raw: () => within(coveredTo + 1, Infinity),
      covered: () => within(1, coveredTo),
      job: () => {
        if (job === undefined) return [];
        const range = within(job.from_seq, job.to_seq);
        const result = JSON.stringify(job.result);
        const retold = range.filter(({ marker }) => result.includes(marker));
        return retold.length > 0 ? retold : range.slice(-NEWEST_OF_JOB);
      },
      memory: () => {
        const told = here.filter(({ marker }) => ledger.told.has(marker));
        return told.length > 0 ? told : here.filter(({ seq }) => seq !== null && ledger.cited.has(seq));
      },
      newest: () => here.slice(-3),
      expired: () => {
        const gone = here.filter(({ seq }) => seq !== null && ledger.expired.has(seq));
        // What something tells of it is what a deletion has to find.
        const told = gone.filter(({ marker, seq }) => ledger.told.has(marker) || ledger.cited.has(seq ?? 0));
        return told.length > 0 ? told : gone;
      },
      edited: () => here.filter(({ markers }) => markers.length > 1).slice(-3),
    };
    const chosen = found[target]();
    return chosen.length === 0 ? here : chosen;
  }

  async #hand(handed: Handed, incarnation: Incarnation): Promise<void> {
    const { room, event } = handed;
    let receipt: Receipt | "dead";
    try {
      receipt = await Promise.race([incarnation.router.receive(event), incarnation.death]);
    } catch (error) {
      room.ledger.violate("error", `an event was refused: ${String(error)}`);
      return;
    }
    if (receipt === "dead") this.#unacknowledged.push(handed);
    else if (event.type === "deletion") await this.#deleted(room, event, receipt);
    else if (event.type === "edit" && this.#isLeaving(room, event)) await this.#deleted(room, event, receipt);
    else if (event.type === "edit") await this.#edited(room, event);
  }

  /** What the edits before it said is said no more. */
  async #edited({ ledger, id }: Room, event: InboundEdit): Promise<void> {
    const said = ledger.byMessageId.get(event.id);
    if (said === undefined) return;
    const lastJob = await observeLastJob(this.#world.probe, id);
    const now = said.markers.findLastIndex((marker) => event.text.includes(marker));
    for (const marker of said.markers.slice(1, now))
      if (!ledger.editedAway.has(marker)) ledger.editedAway.set(marker, lastJob);
  }

  #isLeaving({ ledger }: Room, { id }: InboundEdit): boolean {
    return ledger.byMessageId.get(id)?.markers.some((marker) => ledger.leaving.has(marker)) === true;
  }

  async #deleted({ ledger }: Room, { id }: InboundDeletion | InboundEdit, receipt: Receipt): Promise<void> {
    const said = ledger.byMessageId.get(id);
    if (said === undefined) return;
    ledger.deletions++;
    if (receipt.outcome === "unbound") return;
    for (const marker of said.markers) ledger.gone.add(marker);
    const tables = await this.#world.deleted.tablesWith(said.markers);
    if (tables.length > 0)
      ledger.violate("I12", `the deleted text of ${id} (entry ${said.seq}) is still in ${tables.join(", ")}`);
  }
}
