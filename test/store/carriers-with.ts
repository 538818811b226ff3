import { selectTexts } from "../../src/store/deletion/carrier.ts";
import { FEATURE_ROWS } from "../../src/features/stored.ts";
import { allCarriers } from "../../src/store/deletion/carriers/carriers.ts";
import { DeletionEngine } from "../../src/store/deletion/deletion-engine.ts";
import type { OpenStore } from "./open-store.ts";

/** All carriers: those of the store and of the features. */
export const CARRIERS = allCarriers(FEATURE_ROWS.carriers);

/** A deletion by all carriers; it has no key to fingerprints. */
export const ENGINE = new DeletionEngine(CARRIERS);

/** The names of all carriers that can hold words. */
export const WORDY_CARRIERS: readonly string[] = CARRIERS.filter(({ texts }) => texts.length > 0)
  .map(({ name }) => name)
  .toSorted();

/** The names of the carriers that hold a word, in capitals or not, sorted. */
export async function carriersWith({ sql }: Pick<OpenStore, "sql">, word: string): Promise<string[]> {
  const selects = CARRIERS.flatMap(({ name, texts }) =>
    texts.map(
      (text) => `select '${name}' as name where exists (select from (${selectTexts(text, "true")}) one
                   where position($1 in lower(concat(one.text, one.calls, one.terms))) > 0)`,
    ),
  );
  const found = await sql<{ name: string }>(selects.join(" union "), word.toLowerCase());
  return found.map(({ name }) => name).toSorted();
}
