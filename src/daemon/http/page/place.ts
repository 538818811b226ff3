import type { Readiness } from "../../metrics/readiness.ts";
import type { ChannelReports } from "../channels.ts";
import type { PageChats } from "./chat/page-chats.ts";
import type { Markup } from "./markup.ts";
import type { ReadingRights } from "./reading-rights.ts";
import type { TuneRuns } from "./what-if/tune-process.ts";

/** One page that shows something to whoever is signed in. */
export interface Place {
  readonly path: string;
  /** In the navigation; null: it is reached from another place. */
  readonly name: string | null;
  /** What a viewer sees of it, which it asks of `rights`; left out: nothing, the path is refused. */
  readonly viewer?: string;
  /** @throws HTTPException whose message people are shown */
  show(asked: Asked): Promise<Shown>;
}

export interface Asked {
  readonly reports: ChannelReports;
  readonly readiness: Readiness;
  /** Masks the secrets of a text: before it is cut, for half a secret would not be found. */
  readonly mask: (text: string) => string;
  /** A parameter of the address; "": there is none. */
  readonly query: (name: string) => string;
  /** What the session may read: channels are found and texts are shown by it. */
  readonly rights: ReadingRights;
  /** Aborts when the browser closes the request. */
  readonly signal: AbortSignal;
  readonly tuneRuns: TuneRuns;
  /** Null: chats cannot attach to this daemon. */
  readonly chats: PageChats | null;
  /** Each form that acts sends it: `actForm` adds it. */
  readonly formToken: string;
}

export interface Shown {
  readonly title: string;
  readonly body: Markup;
  /** The page is to be asked for again, by itself, after so many seconds; default: it is not. */
  readonly againSeconds?: number;
}

/** A file of the page that is made when it is asked for. */
export interface Download {
  readonly path: string;
  /** As of a {@link Place}. */
  readonly viewer?: string;
  /** @throws HTTPException whose message people are shown */
  read(asked: Asked): Promise<DownloadedFile>;
}

export interface DownloadedFile {
  /** Letters, digits, hyphens and dots alone. */
  readonly name: string;
  /** MIME type. */
  readonly type: string;
  readonly text: string;
}

/** Something that a form of the page does. It is sent by POST from the page itself, with the session's form token. */
export interface Act {
  readonly path: string;
  /** Longest form, bytes; default: a few short fields. */
  readonly maxBytes?: number;
  /** What it is done to, for the audit log: ids alone, no texts. Null: the form names nothing that there can be. Pure. */
  on(form: Form): string | null;
  /**
   * @param inTime waits for work as long as a browser does
   * @returns a page: nothing was changed, and the operator is asked for more
   * @throws HTTPException whose message people are shown
   */
  run(asked: Asked, form: Form, inTime: InTime): Promise<Done | Shown>;
}

/**
 * @param isDone whether a late outcome is one; default: it is, unless it failed
 * @returns null: it goes on, and the log says how it ends
 */
export type InTime = <Result>(
  work: Promise<Result>,
  isDone?: (value: Result) => boolean,
) => Promise<{ readonly value: Result } | null>;

/** How long an act is waited for, ms: less than the server lets a connection be silent. */
export const ACT_MS = 5000;

/** A field of a form; "": there is none. */
export type Form = (name: string) => string;

/** Longest address of a channel that is logged, in UTF-16 units. */
const MOST_ADDRESS = 200;

/** The channel of a form, for the audit log. */
export function loggedChannel(form: Form): string {
  return form("id").slice(0, MOST_ADDRESS);
}

export interface Done {
  /** The path of the place that shows the outcome. */
  readonly place: string;
  /** `late`: it goes on without the page. */
  readonly outcome: "done" | "refused" | "late";
  readonly sentence: string;
}

/** A whole number from 1 on, as an address has it; null: it is none. */
export function numberIn(text: string): number | null {
  const number = Number(text);
  return Number.isSafeInteger(number) && number > 0 ? number : null;
}
