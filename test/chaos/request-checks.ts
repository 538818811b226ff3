import type { ChaosModel, TurnRequest } from "./chaos-model.ts";
import type { LogChecks, Problem } from "./log-checks.ts";
import { PaidChecks } from "./paid-checks.ts";
import type { People } from "./people.ts";
import { isSmallerTry, problemsOfTry } from "./smaller-tries.ts";
import type { Sql } from "./sql.ts";
import { markOf, short } from "./texts.ts";

/** From a snapshot of the history to its request at the server, ms, on a busy machine. */
const SLACK_MS = 700;
/** A pruned tool result. */
const PRUNED = /\[… \d+ characters/;

interface View {
  readonly covered_to: number;
  readonly omitted_to: number;
  readonly at: Date;
}

/** Compares what the models were sent with what they were sent before, and with the log. */
export class RequestChecks {
  /** Requests after a restart whose stable part went on from the last one before it, byte by byte. */
  kept = 0;
  /** Those in between of which a commit, an omission or a change came. */
  moved = 0;
  /** All requests of the agent's, and those with items that were cut: of these only the names and times are compared. */
  looked = 0;
  cut = 0;
  readonly #model: ChaosModel;
  readonly #people: People;
  readonly #log: LogChecks;
  readonly #sql: Sql;
  readonly #last = new Map<string, TurnRequest>();
  readonly #lines = new Map<string, string>();
  readonly #paid: PaidChecks;
  /** Sessions that a commit may have passed by unheard, and when the first of those may have been made. */
  readonly #unheardFrom = new Map<number, number>();
  #tools: string | null = null;
  #system: string | null = null;

  constructor(model: ChaosModel, people: People, log: LogChecks, sql: Sql) {
    this.#model = model;
    this.#people = people;
    this.#log = log;
    this.#sql = sql;
    this.#paid = new PaidChecks(log, sql);
  }

  /**
   * A commit of this session may not have been heard of, since its connection was cut behind it or it came from a process
   * that was dead by then: until it reads the log again, what it shows is the view before that.
   * @param from when the first such commit may have been made, by the wall clock
   */
  mayLag(session: number, from: number): void {
    this.#unheardFrom.set(session, Math.min(from, this.#unheardFrom.get(session) ?? from));
  }

  /** Since when a change of the view may be the one that a request of this session shows, or does not show yet. */
  #changesFrom({ session, firstAt }: TurnRequest): Date {
    return new Date(Math.min(firstAt, this.#unheardFrom.get(session) ?? firstAt) - SLACK_MS);
  }

  /** Looks at all requests since the last look. Call it after the log was looked at. */
  async problems(): Promise<Problem[]> {
    const turns = this.#model.turns;
    this.#model.turns = [];
    const found: Problem[] = [];
    for (const request of turns) found.push(...(await this.#look(request)));
    return [...found, ...(await this.#paid.problems(this.#model.paid.splice(0)))];
  }

  async #look(request: TurnRequest): Promise<Problem[]> {
    const { channel, tools } = request;
    const found: string[] = [];
    const system = request.system.replace(/Today is [\d-]+/, "");
    if (tools !== (this.#tools ??= tools)) found.push("the tools changed");
    if (system !== (this.#system ??= system)) found.push("the system prompt changed");
    found.push(...this.#changedLines(request), ...(await this.#gaps(request)));
    this.looked++;
    if (request.lines.some(isCut)) this.cut++;
    // What is tried in place of a refused request is no view of the channel: the next one is compared with what came before.
    if (!isSmallerTry(request)) {
      const last = this.#last.get(channel);
      this.#last.set(channel, request);
      if (last !== undefined) found.push(...(await this.#brokenPrefix(last, request)));
    }
    return found.map((what) => ({ kind: "wrong", what: `${channel}: ${what}` }));
  }

  /** What a model has read keeps its name, its time and its words. */
  #changedLines({ lines }: TurnRequest): string[] {
    return lines.flatMap((line) => {
      const mark = markOf(line) ?? "";
      const said = this.#people.said.get(mark);
      const known = this.#lines.get(mark);
      if (said === undefined || said.isChanged || isCut(line)) return [];
      this.#lines.set(mark, line);
      if (known !== undefined && known !== line)
        return [`${mark} was shown as ${short(known)}, now as ${short(line)}`];
      return line.includes(`] ${said.author}: ${mark} `)
        ? []
        : [`${mark} of ${said.author} is shown as ${short(line)}`];
    });
  }

  /** Everything behind the watermark is there, and nothing before it. */
  async #gaps(request: TurnRequest): Promise<string[]> {
    const { channel, lines, rawLines, at } = request;
    // Who said what is cut so short may not be readable either.
    if (lines.some(isCut)) return [];
    const shown = new Set(lines.flatMap((line) => this.#log.seqs.get(markOf(line) ?? "")?.seq ?? []));
    const changed = new Set(
      [...this.#people.said.values()].flatMap((one) =>
        one.isChanged ? (this.#log.seqs.get(one.id)?.seq ?? []) : [],
      ),
    );
    const first = Math.min(...shown);
    const last = Math.max(...shown);
    const all = this.#log.userSeqs.get(channel) ?? [];
    const missing = all.filter((seq) => seq > first && seq < last && !shown.has(seq) && !changed.has(seq));
    const found =
      missing.length === 0 ? [] : [`a request shows ${first} to ${last} without ${missing.join(" ")}`];
    if (isSmallerTry(request)) return [...found, ...problemsOfTry(request)];
    if (rawLines === 0) return found;
    const views = await this.#viewsAt(request);
    const isStart = (watermark: number): boolean =>
      first > watermark && !all.some((seq) => seq > watermark && seq < first && !changed.has(seq));
    const watermarks = views.map((view) => Math.max(view.covered_to, view.omitted_to));
    if (watermarks.some(isStart) || (views.length === 0 && isStart(0))) return found;
    const tail = views
      .map((view) => `${view.covered_to}/${view.omitted_to} at -${at - view.at.getTime()} ms`)
      .join(", ");
    return [
      ...found,
      `a request begins at ${first}, the view behind ${watermarks.join(" or ")} (${tail}; ${rawLines} raw of ${lines.length})`,
    ];
  }

  /** The view as it was at a time, or may have been. */
  async #viewsAt(request: TurnRequest): Promise<View[]> {
    const { channel, at } = request;
    const id = this.#log.channelIds.get(channel) ?? 0;
    const from = this.#changesFrom(request);
    return this.#sql.rows<View>(
      `select covered_to, omitted_to, at from chaos.views where channel_id = $1 and at between $2 and $3
       union all (select covered_to, omitted_to, at from chaos.views where channel_id = $1 and at < $2 order by at desc limit 1)`,
      [id, from, new Date(at)],
    );
  }

  /**
   * A message that was edited before a turn began that shows it, by the log: the turn's first request may still have had the former text.
   * What was edited later is told by a note, and stays as it was.
   */
  async #isEditedUnread(channel: number, was: string, is: string): Promise<boolean> {
    const mark = /\] (?:[^:\n]{1,80}: )?(g\d+)e /.exec(is)?.[1];
    if (mark === undefined || !was.includes(`${mark} `)) return false;
    const [row] = await this.#sql.rows<{ count: number }>(
      "select count(*) as count from revisions where channel_id = $1 and seq = $2 and noted_seq is null",
      [channel, this.#log.seqs.get(mark)?.seq ?? 0],
    );
    return (row?.count ?? 0) > 0;
  }

  async #brokenPrefix(before: TurnRequest, now: TurnRequest): Promise<string[]> {
    const old = [...before.summaries, ...before.raw];
    const fresh = [...now.summaries, ...now.raw];
    const isRestart = before.session !== now.session;
    const id = this.#log.channelIds.get(now.channel) ?? 0;
    let place = old.findIndex((message, index) => fresh[index] !== message);
    while (place >= 0 && (await this.#isEditedUnread(id, old[place] ?? "", fresh[place] ?? "")))
      place = old.findIndex((message, index) => index > place && fresh[index] !== message);
    if (place < 0) {
      if (isRestart) this.kept++;
      return [];
    }
    if (isRestart) this.moved++;
    const [was = "", is = ""] = [old[place], fresh[place]];
    // A step of the pruning, or items that were too long for the window.
    if (PRUNED.test(was) || PRUNED.test(is) || [...before.lines, ...now.lines].some(isCut)) return [];
    const [changes] = await this.#sql.rows<{ count: number }>(
      "select count(*) as count from chaos.views where channel_id = $1 and at between $2 and $3",
      [id, this.#changesFrom(before), new Date(now.at)],
    );
    if ((changes?.count ?? 0) > 0) return [];
    const restart = isRestart ? "after a restart" : "without a restart";
    return [
      `the prefix broke at ${place} ${restart}, and nothing came between: was ${short(was)}, is ${short(is)}`,
    ];
  }
}

/** Emergency has left the beginning of it, and perhaps its end: every text ends with a full stop. */
function isCut(line: string): boolean {
  return line.includes("[… cut: ") || !line.endsWith(".");
}
