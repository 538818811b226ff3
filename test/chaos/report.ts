import type { Problem } from "./log-checks.ts";

export interface Row {
  /** Of the processes that were to be killed there; of those, `reached` came there. */
  kills: number;
  reached: number;
  lost: number;
  doubled: number;
  wrong: number;
}

/** A report on its way from one process to another. */
export interface ReportData {
  readonly kills: number;
  readonly messages: number;
  readonly summaries: number;
  readonly requests: Report["requests"];
  readonly problems: readonly Problem[];
  readonly rows: ReadonlyMap<string, Row>;
}

/** What came of a run. */
export class Report {
  kills = 0;
  messages = 0;
  summaries = 0;
  requests = { looked: 0, cut: 0, kept: 0, moved: 0 };
  readonly problems: Problem[] = [];
  readonly #rows = new Map<string, Row>();
  readonly #known = new Set<string>();

  get data(): ReportData {
    const { kills, messages, summaries, requests, problems } = this;
    return { kills, messages, summaries, requests, problems, rows: this.#rows };
  }

  /** By point or trouble. */
  get rows(): ReadonlyMap<string, Row> {
    return this.#rows;
  }

  /** Adds what came of another run, on other messages. */
  merge(other: ReportData): void {
    this.kills += other.kills;
    this.messages += other.messages;
    this.summaries += other.summaries;
    this.problems.push(...other.problems);
    const { looked, cut, kept, moved } = other.requests;
    this.requests = {
      looked: this.requests.looked + looked,
      cut: this.requests.cut + cut,
      kept: this.requests.kept + kept,
      moved: this.requests.moved + moved,
    };
    for (const [point, row] of other.rows) {
      const sum = this.#row(point);
      for (const key of ["kills", "reached", "lost", "doubled", "wrong"] as const) sum[key] += row[key];
    }
  }

  /** A process was killed. */
  count(point: string, isReached: boolean): void {
    const row = this.#row(point);
    this.kills++;
    row.kills++;
    if (isReached) row.reached++;
  }

  /** @returns false: it was known before */
  add(point: string, problem: Problem): boolean {
    if (this.#known.has(problem.what)) return false;
    this.#known.add(problem.what);
    this.problems.push(problem);
    this.#row(point)[problem.kind]++;
    return true;
  }

  /** Points by kills, lost and doubled, as a table. */
  lines(): string[] {
    const head = ["point", "kills", "reached", "lost", "doubled", "wrong"];
    const rows = [...this.#rows]
      .toSorted(([a], [b]) => a.localeCompare(b))
      .map(([point, row]) => [point, row.kills, row.reached, row.lost, row.doubled, row.wrong].map(String));
    const sum = (kind: Problem["kind"]): string =>
      String(this.problems.filter((one) => one.kind === kind).length);
    const reached = [...this.#rows.values()].reduce((all, row) => all + row.reached, 0);
    const last = ["all", String(this.kills), String(reached), sum("lost"), sum("doubled"), sum("wrong")];
    const table = [head, ...rows, last].map(([point = "", ...cells]) =>
      [point.padEnd(20), ...cells.map((cell) => cell.padStart(8))].join(" "),
    );
    const { looked, cut, kept, moved } = this.requests;
    return [
      ...table,
      `${this.messages} messages, ${this.summaries} requests to the summariser, ${looked} of turns (${cut} with cut items)`,
      `first requests after a restart: ${kept} went on with the same bytes, ${moved} after a commit, an omission or a change`,
    ];
  }

  #row(point: string): Row {
    const row = this.#rows.get(point) ?? { kills: 0, reached: 0, lost: 0, doubled: 0, wrong: 0 };
    this.#rows.set(point, row);
    return row;
  }
}
