import { z } from "zod";
import type { ChannelId } from "../../src/core/ids.ts";
import type { Database } from "../../src/store/database/database.ts";
import { canonicalArguments } from "../../src/tools/canonical-arguments.ts";
import { makeTool, type Tool } from "../../src/tools/tool.ts";
import type { Gate } from "./chat.ts";
import type { Incarnation } from "./incarnation.ts";
import type { Room } from "./rooms.ts";
import { MARKER } from "./texts.ts";

/** The tool that does something which everybody would notice, and whose calls somebody has to allow. */
export const ACT = "act";
const Input = z.strictObject({ what: z.string() });

/** Told of each call that is made: of its id, and of what it does. */
export type OnDeed = (callId: string, what: string) => Promise<void>;

export function actTool(onDeed: OnDeed, gate: Gate): Tool {
  const tool = makeTool({
    name: ACT,
    description: "Does it.",
    input: Input,
    async run({ what }, { callId }) {
      await gate("before");
      await onDeed(callId, what);
      await gate("after");
      return { kind: "result", text: "Done.", references: [] };
    },
  });
  return { ...tool, asks: "always" };
}

/** The approval whose call this is; null: it needed none any more. */
export function approvalOf(callId: string): number | null {
  const [, id] = /^approval_(\d+)$/.exec(callId) ?? [];
  return id === undefined ? null : Number(id);
}

interface DeedsParts {
  readonly probe: Database;
  readonly roomOf: (marker: string) => Room | undefined;
  readonly isSole: (incarnation: Incarnation, room: Room) => boolean;
}

/** What was done outside, whichever incarnation did it. */
export class Deeds {
  readonly #parts: DeedsParts;
  /** By approval: how often its call was made. */
  readonly #done = new Map<number, number>();
  /** The same, as it was when the rows were read last. */
  #doneByLook: ReadonlyMap<number, number> = new Map();
  count = 0;

  constructor(parts: DeedsParts) {
    this.#parts = parts;
  }

  /** The rows are read next: they need not tell of a call that is made meanwhile. */
  beginLook(): void {
    this.#doneByLook = new Map(this.#done);
  }

  /** How often the call of an approval had been made before the rows were read. */
  timesByLook(approval: number): number {
    return this.#doneByLook.get(approval) ?? 0;
  }

  #timesOf(approval: number): number {
    return this.#done.get(approval) ?? 0;
  }

  /** A call is being made: somebody has allowed it, it is claimed, and it tells of nothing that was taken back. */
  async done(incarnation: Incarnation, callId: string, what: string): Promise<void> {
    const { roomOf, isSole } = this.#parts;
    const markers = what.match(MARKER) ?? [];
    const room = roomOf(markers[0] ?? "");
    this.count++;
    const id = approvalOf(callId);
    if (id !== null) this.#done.set(id, this.#timesOf(id) + 1);
    // Before the first wait: what is taken back from now on it may tell.
    const gone = markers.filter((marker) => room?.ledger.gone.has(marker) === true);
    const isAlone = room !== undefined && isSole(incarnation, room);
    const wrong = id === null ? await this.#unruled(room, what) : await this.#unclaimed(id);
    if (room === undefined) return;
    const { ledger } = room;
    if (gone.length > 0 && isAlone)
      ledger.violate("I21", `a call tells of what was taken back: ${gone.join(", ")}`);
    if (id !== null && this.#timesOf(id) > 1)
      ledger.violate("I21", `the call of approval ${id} is made again`);
    if (wrong !== null && isAlone) ledger.violate("I21", wrong);
  }

  async #unclaimed(id: number): Promise<string | null> {
    const [row] = await this.#parts.probe.query<{ state: string }>(
      "fuzz_approval_state",
      "select state from approvals where id = $1",
      [id],
    );
    const isClaimed = row?.state === "running" || row?.state === "done";
    return isClaimed ? null : `the call of approval ${id} is made, which is ${row?.state ?? "not there"}`;
  }

  async #unruled(room: Room | undefined, what: string): Promise<string | null> {
    const { ledger, id } = room ?? {};
    if (id === undefined || ledger === undefined) return null;
    const rules = await this.#rulesFor(id, what);
    // One that is being voided may have been read before.
    const isChanging = ledger.leaving.size > ledger.gone.size || ledger.editing.size > 0;
    return rules > 0 || isChanging ? null : `nobody has allowed the call that does "${what}"`;
  }

  async #rulesFor(channel: ChannelId, what: string): Promise<number> {
    const rows = await this.#parts.probe.query(
      "fuzz_rules_for",
      "select from approval_rules where channel_id = $1 and arguments = $2",
      [channel, canonicalArguments(JSON.stringify({ what }))],
    );
    return rows.length;
  }
}
