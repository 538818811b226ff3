import type { Ledger } from "../ledger.ts";
import type { State } from "../observe.ts";

/** What two looks at the rows, one after the other, must fulfil. @returns what is wrong */
export type RowCheck = (before: State | null, after: State, ledger: Ledger) => string[];
