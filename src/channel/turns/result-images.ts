import type { ResultImages } from "../../context/assemble.ts";
import type { ModelImage } from "../../core/context.ts";
import type { TurnEntryDraft } from "../../core/entry.ts";
import type { History, TurnRange } from "../../core/history.ts";
import type { Store } from "../../store/store.ts";

/** Pictures from tools that one turn shows. The first ones stay: replacing one would change what a provider has cached. */
const MOST_IMAGES = 8;

export class TurnImages {
  readonly #store: Pick<Store, "attached">;
  readonly #turn: TurnRange;
  readonly #history: () => History;
  /** By picture number. */
  readonly #known = new Map<number, ModelImage>();

  constructor(store: Pick<Store, "attached">, turn: TurnRange, history: () => History) {
    this.#store = store;
    this.#turn = turn;
    this.#history = history;
  }

  /** Drops pictures above the turn's limit from entries that are about to be appended. */
  withinTurn(drafts: readonly TurnEntryDraft[]): readonly TurnEntryDraft[] {
    if (drafts.every((draft) => draft.kind !== "tool_result" || draft.images === undefined)) return drafts;
    let room = MOST_IMAGES - this.#brought();
    return drafts.map((draft) => {
      if (draft.kind !== "tool_result" || draft.images === undefined) return draft;
      const { images, ...rest } = draft;
      const shown = images.slice(0, room);
      room -= shown.length;
      if (shown.length === images.length) return draft;
      const text = `${draft.text}\n[${images.length - shown.length} of these pictures not shown: a turn is shown ${MOST_IMAGES}]`;
      return shown.length === 0 ? { ...rest, text } : { ...rest, text, images: shown };
    });
  }

  async read(): Promise<readonly ResultImages[]> {
    if (this.#brought() === 0) return [];
    const kept = await this.#store.attached.ofResults(this.#turn.id, [...this.#known.keys()]);
    const found = kept.flatMap(({ seq, number, type, bytes }) => {
      const image =
        bytes === null
          ? this.#known.get(number)
          : {
              type,
              base64: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64"),
            };
      if (image === undefined) return [];
      this.#known.set(number, image);
      return { seq, image };
    });
    return [...Map.groupBy(found, ({ seq }) => seq)].map(([seq, ofResult]) => ({
      seq,
      images: ofResult.map(({ image }) => image),
    }));
  }

  #brought(): number {
    return this.#history().entries.reduce(
      (sum, entry) =>
        entry.kind === "tool_result" && entry.turnId === this.#turn.id ? sum + (entry.images ?? 0) : sum,
      0,
    );
  }
}
