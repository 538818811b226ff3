import { hash } from "node:crypto";
import { HTTPException } from "hono/http-exception";
import type { Logger } from "pino";
import { PollLoop } from "../../../../async/poll-loop.ts";
import { errorMessage } from "../../../../core/errors.ts";
import type { Entry } from "../../../../core/entry.ts";
import { formatAddress, type Seq } from "../../../../core/ids.ts";
import { describeCompaction, describeRunning } from "../../../../platforms/terminal/compaction-remarks.ts";
import type { ChannelRow } from "../../../../store/channels/channels.ts";
import type { LiveNews, WeirEvent } from "../../../../telemetry/events.ts";
import { displayable, displayableLine, heldBack } from "../../../../text/displayable.ts";
import { sliceWhole } from "../../../../text/text.ts";
import type { ReportedDaemon } from "../../channels.ts";
import { masked } from "../../masked.ts";
import { ENTRIES_ON_PAGE, rowOf } from "../channel/entries.ts";
import type { ReadingRights } from "../reading-rights.ts";
import type { EventStream } from "./event-stream.ts";
import { formatPosition, type Position, positionAt } from "./position.ts";

export interface WatchParts {
  readonly daemon: Pick<ReportedDaemon, "store" | "staffOf" | "homes">;
  /** Of all its readers. */
  readonly rights: ReadingRights;
  readonly mask: (text: string) => string;
  /** The same for a text that is still being written. */
  readonly maskSoFar: (text: string) => string;
  /** Runs one reading of all watches after the other. */
  readonly inTurn: <Result>(work: () => Promise<Result>) => Promise<Result>;
  readonly log: Logger;
}

/** Least time between two readings of the log, and between two pieces of a text that is being written, ms. */
const PACE_MS = 250;
/** Time between two readings without news, ms: of a channel that runs here, and of one that another daemon runs. */
const LOOK_MS = { here: 10_000, elsewhere: 3000 } as const;
/** Of rows for one reader, in UTF-16 units: fewer than may stay unread. */
const MOST_AT_ONCE = 400_000;
/** The end of a text that is being written, in UTF-16 units. */
const DRAFT_SHOWN = 4000;

interface Reader {
  readonly stream: EventStream;
  /** Null: the newest that there is. */
  position: Position | null;
  /** It has been told nothing yet. */
  isNew: boolean;
}

/** What the log said at the last reading. */
interface Known extends Position {
  readonly isHere: boolean;
  readonly coveredTo: Seq;
  /** By seq, a fingerprint of each row as it was read last: of the newest. */
  readonly prints: Map<Seq, string>;
}

interface RowSent {
  readonly seq: Seq;
  readonly json: string;
  readonly isChanged: boolean;
  /** It waited for an answer, and does so no more. */
  readonly isAnswered: boolean;
  /** Its text is no longer there: deleted, or too old to be kept. */
  readonly isGone: boolean;
}

/**
 * One channel for all who look at it: reads what is new in its log, at a steady pace and after the turn, and tells each of them.
 * News only asks for a reading, so that lost, doubled and early ones do no harm.
 */
export class ChannelWatch implements AsyncDisposable {
  readonly #parts: WatchParts;
  /** `platform:name` */
  readonly name: string;
  readonly #id: ChannelRow["id"];
  readonly #readers = new Set<Reader>();
  readonly #loop = new PollLoop(async () => this.#look());
  #known: Known | null = null;
  #soon: NodeJS.Timeout | undefined;
  /** The next reading was asked for by news. */
  #isAsked = false;
  /** Rows that were read before may have changed. */
  #mayBeOld = false;
  #draft: Extract<LiveNews, { type: "draft" }> | null = null;
  #isDraftShown = false;
  #draftSoon: NodeJS.Timeout | undefined;
  /** How turns have ended since the last reading. */
  readonly #ends: string[] = [];

  constructor(parts: WatchParts, channel: Pick<ChannelRow, "id" | "address">) {
    this.#parts = parts;
    this.#id = channel.id;
    this.name = formatAddress(channel.address);
  }

  get isWatched(): boolean {
    return this.#readers.size > 0;
  }

  /** @param position of a stream that resumes; null: it begins with what is new from now on */
  add(stream: EventStream, position: Position | null): () => void {
    const reader = { stream, position, isNew: true };
    this.#readers.add(reader);
    this.#loop.now();
    return () => this.#readers.delete(reader);
  }

  /** Returns at once: a turn calls it. */
  hearLive(news: LiveNews): void {
    if (news.type === "log_changed") {
      if (news.id === null) this.#mayBeOld = true;
      if (news.id === null || news.id === this.#id) this.#lookSoon();
    } else if (news.channel === this.name) {
      this.#draft = news;
      this.#draftSoon ??= setTimeout(() => {
        this.#draftSoon = undefined;
        void this.#showDraft();
      }, PACE_MS).unref();
    }
  }

  /** Returns at once: a turn calls it. */
  hear(event: WeirEvent): void {
    if (event.channel !== this.name) return;
    switch (event.type) {
      case "turn_started":
        // What an earlier attempt has shown is void; what an ended turn has shown stays until its row is there.
        if (this.#ends.length === 0) this.#dropDraft();
        return;
      case "turn_settled":
        this.#ends.push(event.outcome);
        this.#draft = null;
        this.#lookSoon();
        return;
      case "compaction":
        this.#tell("compaction", compactionNews(event));
        return;
      case "emergency":
      case "channel_loaded":
      case "channel_lost":
        this.#lookSoon();
        return;
      default:
    }
  }

  #lookSoon(): void {
    this.#soon ??= setTimeout(() => {
      this.#soon = undefined;
      this.#isAsked = true;
      this.#loop.now();
    }, PACE_MS).unref();
  }

  #tell(event: string, data: object): void {
    const json = JSON.stringify(data);
    for (const { stream } of this.#readers) stream.send(event, json);
  }

  #dropDraft(): void {
    this.#draft = null;
    if (this.#isDraftShown) this.#tell("draft", { speaker: "", text: "" });
    this.#isDraftShown = false;
  }

  /** Never rejects. */
  async #showDraft(): Promise<void> {
    const draft = this.#draft;
    // No event reports that a channel became private, so the database is asked. The answer is of the piece that was there before: a newer one asks again.
    const isRead = this.#parts.rights.isAll || (await this.#readsDraft());
    if (draft === null || this.#draft === null) return;
    if (draft.text === null || this.#draft.text === null || !isRead) {
      this.#dropDraft();
      return;
    }
    this.#isDraftShown = true;
    const json = this.#draftJson(draft.agent, draft.text);
    // The next piece has the whole text.
    for (const { stream } of this.#readers) if (!stream.isBehind) stream.send("draft", json);
  }

  async #readsDraft(): Promise<boolean> {
    const { daemon, rights, log } = this.#parts;
    try {
      const channel = await rights.findReadable(daemon, this.name);
      return (await rights.readsMadeOf(daemon.store, channel))();
    } catch (error) {
      log.debug({ channel: this.name, why: errorMessage(error) }, "page_stream_not_read");
      return false;
    }
  }

  #draftJson(agent: string, text: string): string {
    const { mask, maskSoFar } = this.#parts;
    // All of it, before it is cut: half a secret would not be found.
    const whole = text.slice(0, text.length - heldBack(text));
    const safe = maskSoFar(displayable(maskSoFar(whole)));
    const from = safe.length - DRAFT_SHOWN;
    const shown = from > 0 ? `… ${sliceWhole(safe, from, safe.length)}` : safe;
    return JSON.stringify({ speaker: mask(displayableLine(`[${agent}]`)), text: shown });
  }

  /** Never rejects. */
  async #look(): Promise<number> {
    try {
      if (this.isWatched) await this.#parts.inTurn(async () => this.#read());
    } catch (error) {
      this.#parts.log.debug({ channel: this.name, why: errorMessage(error) }, "page_stream_not_read");
      // The channel has this name no more, or its texts may be read no more: pages that show them load again.
      if (error instanceof HTTPException)
        for (const { stream } of this.#readers) {
          if (!this.#parts.rights.isAll) stream.send("stale", "{}");
          stream.close();
        }
    }
    return LOOK_MS[this.#known?.isHere === false ? "elsewhere" : "here"];
  }

  async #read(): Promise<void> {
    const { daemon, rights } = this.#parts;
    const { store, homes } = daemon;
    const readers = [...this.#readers];
    // No event tells that a text is no longer kept: a reading that no event asked for looks for that.
    const mayBeOld = this.#mayBeOld || !this.#isAsked;
    this.#mayBeOld = false;
    this.#isAsked = false;
    const ended = this.#ends.length;
    const channel = await rights.findReadable(daemon, this.name);
    // Before the rows: a later change is found by the next reading.
    const changes = await store.memories.takenBack(this.#id);
    const isHere = !(await homes.isElsewhere(this.#id));
    const { lastSeq: seq, settledTo, coveredTo } = channel;
    const before = this.#known;
    const isChanged = before !== null && before.changes !== changes;
    const isWhole = before === null || isChanged || mayBeOld || readers.some(({ isNew }) => isNew);
    const window = Math.max(1, seq - ENTRIES_ON_PAGE + 1);
    const from = isWhole ? window : Math.max(window, Math.min(before.seq, before.settledTo) + 1);
    const read = from > seq ? [] : await store.log.readCurrent(this.#id, from, seq);
    const entries = await rights.entries(store, channel, read);
    if (!(await rights.readsMadeOf(store, channel))()) this.#dropDraft();
    const prints = new Map(before?.prints);
    const rows = this.#rows(entries, channel, prints);
    for (const known of prints.keys()) if (known < window) prints.delete(known);
    this.#known = { seq, settledTo, changes, isHere, coveredTo, prints };
    for (const reader of readers) this.#bring(reader, rows, { before, isChanged });
    // Here its event says more.
    if (!isHere && before !== null && coveredTo > before.coveredTo)
      this.#tell("compaction", { words: "A summary has landed.", isOver: true });
    const ends = this.#ends.splice(0, ended);
    if (!isHere || (ends.length > 0 && this.#draft === null)) this.#dropDraft();
    for (const outcome of ends) this.#tell("settled", { outcome });
  }

  /** @param prints is brought up to date */
  #rows(entries: readonly Entry[], channel: ChannelRow, prints: Map<Seq, string>): RowSent[] {
    const { daemon, mask } = this.#parts;
    const { time } = daemon.staffOf(channel).agent;
    return masked(entries, mask).map((entry) => {
      const row = masked(rowOf(entry, { channel, name: this.name, time }), mask);
      const json = JSON.stringify(row);
      const print = hash("sha1", json);
      const isChanged = prints.get(entry.seq) !== print;
      prints.set(entry.seq, print);
      const isAnswered = entry.kind === "user" && entry.addressed && entry.seq <= channel.settledTo;
      const isGone = entry.deleted || entry.expired === true;
      return { seq: entry.seq, json, isChanged, isAnswered, isGone };
    });
  }

  #bring(
    reader: Reader,
    rows: readonly RowSent[],
    { before, isChanged }: { readonly before: Known | null; readonly isChanged: boolean },
  ): void {
    const { stream } = reader;
    const known = this.#known;
    if (known === null) return;
    const { isHere } = known;
    const { isNew } = reader;
    if (isNew || before?.isHere !== isHere) stream.send("where", JSON.stringify({ isHere }));
    // It shows texts that were changed while it was away, also in summaries: it loads the page again.
    if (isNew && reader.position !== null && reader.position.changes !== known.changes)
      stream.send("stale", "{}");
    let at = reader.position ?? known;
    const isNews = (row: RowSent): boolean =>
      isNew ? row.seq > at.seq || (row.isAnswered && row.seq > at.settledTo) || row.isGone : row.isChanged;
    let size = 0;
    for (const row of rows.filter(isNews)) {
      at = positionAt(at, row.seq, known);
      stream.send("row", row.json, formatPosition(at));
      size += row.json.length;
      if (size < MOST_AT_ONCE) continue;
      // The rest follows as for a stream that resumes.
      Object.assign(reader, { position: at, isNew: true });
      this.#lookSoon();
      return;
    }
    const { seq, settledTo, changes } = known;
    reader.position = { seq, settledTo, changes };
    reader.isNew = false;
    if (isChanged && !isNew) stream.send("changed", "{}", formatPosition(reader.position));
    if (isNew && this.#isDraftShown && this.#draft?.text != null)
      stream.send("draft", this.#draftJson(this.#draft.agent, this.#draft.text));
  }

  /** Stops it. Resolves when no reading is under way. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#soon);
    clearTimeout(this.#draftSoon);
    await this.#loop[Symbol.asyncDispose]();
  }
}

/** @returns its sentence, and whether what the page shows of the channel has changed by it */
function compactionNews(event: Extract<WeirEvent, { type: "compaction" }>) {
  switch (event.phase) {
    case "started":
      return { words: `Beside the talk: ${describeRunning(event)}.`, isOver: false };
    case "written":
      return { words: "A summary is written ahead: it lands at the next mark.", isOver: true };
    case "committed":
      return { words: `A summary has landed ${describeCompaction(event) ?? ""}.`, isOver: true };
    case "stale":
    case "failed":
      return { words: "A summary was not kept: the log says why.", isOver: true };
  }
}
