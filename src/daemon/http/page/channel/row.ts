import type { Seq } from "../../../../core/ids.ts";

/** An entry as people read it: the page's markup and its script show these texts alike. */
export interface Row {
  readonly seq: Seq;
  /** The message after which it stands; null: where it arrived. */
  readonly after: Seq | null;
  readonly speaks: "person" | "agent" | "tool";
  /** In ISO form. */
  readonly at: string;
  readonly day: string;
  readonly minute: string;
  readonly title: string;
  readonly speaker: string;
  readonly marks: readonly string[];
  readonly text: string;
  /** The text only says that there is none. */
  readonly isDim: boolean;
  /** Where all of a cut text is; null: it is not cut. */
  readonly all: { readonly path: string; readonly words: string } | null;
  /** The page of the turn that wrote it; null: it is no answer. */
  readonly turn: string | null;
}
