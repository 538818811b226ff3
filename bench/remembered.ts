import { readFileSync } from "node:fs";
import type { Entry } from "../src/core/entry.ts";
import { splitSentences, terms } from "../src/text/terms.ts";
import { hasRelativeDate } from "../src/memory/relative-dates.ts";
import { holdsSecret } from "../src/memory/secrets.ts";
import { said } from "../test/memory/said.ts";
import { refusalOf, type Stated, statements } from "../test/memory/stated.ts";
import type { Bench, Row } from "./support/figure.ts";
import { readFacts, readMessages, type RecordedFact, type RecordedMessage } from "./support/recordings.ts";

/** What the checks of memories let through: secrets, and statements that nobody made. */

/** Recordings with facts, and others whose lines are ordinary ones. */
const FACTS = "recall-locomo";
const ORDINARY = ["recall-locomo", "channel-irc-ubuntu", "multilingual-ja-realpersonachat", "summ-qmsum"];
/** Lines before and after a fact's that the summariser reads. */
const AROUND = 30;
const MAX_TEXT = 480;

export function remembered({ recordings }: Bench): Row[] {
  return [
    ...secretRows(),
    ...statedRows(statements(), "", true),
    ...(recordings === null ? [] : recordedRows(recordings)),
  ];
}

function secretRows(): Row[] {
  const listed = (name: string): string[] =>
    readFileSync(`${import.meta.dirname}/../test/memory/samples/${name}`, "utf8")
      .split("\n")
      .filter((line) => line !== "");
  const secrets = listed("secrets.txt").map((line) => line.replaceAll("~", ""));
  const ordinary = listed("ordinary.txt");
  return [
    {
      what: `secrets that pass, of ${secrets.length}`,
      value: secrets.filter((line) => !holdsSecret(line)).length,
      unit: "",
      bar: { atMost: 0 },
    },
    {
      what: `false alarms in 500 ordinary lines, of ${ordinary.length}`,
      value: (500 * ordinary.filter(holdsSecret).length) / ordinary.length,
      unit: "",
      bar: { atMost: 1 },
    },
  ];
}

/** @param name of the data @param hasBar whether the data are made for the bars */
function statedRows(all: readonly Stated[], name: string, hasBar: boolean): Row[] {
  const kinds = [...new Set(all.map(({ kind }) => kind))];
  return kinds.map((kind) => {
    const made = all.filter((one) => one.kind === kind);
    const value = made.filter((one) => refusalOf(one) === null).length / made.length;
    const bar = kind === "gold" ? { atLeast: 0.9 } : { atMost: 0.05 };
    return {
      what: `statements kept${name}, ${kind}, of ${made.length}`,
      value,
      unit: "",
      ...(hasBar && { bar }),
    };
  });
}

function recordedRows(folder: string): Row[] {
  const lines = ORDINARY.flatMap((name) => readMessages(folder, name).map(({ text }) => text));
  const alarms = (500 * lines.filter(holdsSecret).length) / lines.length;
  const row: Row = {
    what: `false alarms in 500 lines, of ${lines.length} recorded`,
    value: alarms,
    unit: "",
    bar: { atMost: 1 },
  };
  const byId = Map.groupBy(readMessages(folder, FACTS), (one) => one.conversation_id);
  const facts = readFacts(folder, FACTS).flatMap((fact) =>
    factOf(fact, byId.get(fact.conversation_id) ?? []),
  );
  // Facts with "last week" are refused for that, whatever else they say.
  const dated = facts.filter(({ statement }) => !hasRelativeDate(statement));
  return [
    row,
    {
      what: `facts with a relative date, of ${facts.length} recorded`,
      value: facts.length - dated.length,
      unit: "",
    },
    ...statedRows(
      dated.flatMap((one, index) => [one, ...spoilt(one, index)]),
      ", recorded",
      false,
    ),
  ];
}

function factOf({ fact, evidence }: RecordedFact, messages: readonly RecordedMessage[]): Stated[] {
  const words = new Set(terms(fact));
  const shared = (text: string): number => terms(text).filter((term) => words.has(term)).length;
  const places = evidence
    .map((seq) => messages.findIndex((one) => one.seq === seq))
    .filter((place) => place >= 0);
  const [place] = places.toSorted(
    (a, b) => shared(messages[b]?.text ?? "") - shared(messages[a]?.text ?? ""),
  );
  if (place === undefined) return [];
  const from = Math.max(0, place - AROUND);
  const lines = new Map<number, Entry>(
    messages
      .slice(from, place + AROUND)
      .map(({ author, seq, text, ts }, index) => [
        index + 1,
        said(seq + 1, text, { at: new Date(ts), author: { id: `u-${author}`, name: author, isBot: false } }),
      ]),
  );
  const people = [...new Set(messages.map(({ author }) => author))];
  const subject =
    people.toSorted((a, b) => placeIn(fact, a) - placeIn(fact, b)).find((name) => fact.includes(name)) ?? "";
  const line = place - from + 1;
  const quote = quoteOf(lines.get(line)?.text ?? "", shared);
  if (subject === "" || quote === "") return [];
  return [
    {
      kind: "gold",
      language: "en",
      statement: fact.slice(0, MAX_TEXT),
      subject,
      quote,
      line,
      type: "fact",
      lines,
    },
  ];
}

function placeIn(text: string, name: string): number {
  const place = text.indexOf(name);
  return place < 0 ? text.length : place;
}

function quoteOf(text: string, shared: (text: string) => number): string {
  const [first = ""] = splitSentences(text).toSorted((a, b) => shared(b) - shared(a));
  return first.slice(0, MAX_TEXT);
}

function spoilt(gold: Stated, index: number): Stated[] {
  const people = [...gold.lines.values()].map((entry) => (entry.kind === "user" ? entry.author.name : ""));
  const other = people.find((name) => name !== gold.subject);
  const far = [...gold.lines.keys()].filter((line) => Math.abs(line - gold.line) > 11);
  const line = far[(index * 13) % Math.max(1, far.length)];
  const text = line === undefined ? "" : quoteOf(gold.lines.get(line)?.text ?? "", (one) => one.length);
  const bare = gold.statement.replace(/[.!?]$/, "");
  const tails = [
    " at C:\\plans.txt",
    " for 90,000 euros",
    " in Reykjavik",
    " with Marvin",
    " because of the strike of the tram drivers",
  ];
  return [
    ...(other === undefined
      ? []
      : [
          {
            ...gold,
            kind: "swapped name" as const,
            subject: other,
            statement: gold.statement.replaceAll(gold.subject, other),
          },
        ]),
    ...(line === undefined || text === ""
      ? []
      : [{ ...gold, kind: "other line" as const, line, quote: text }]),
    { ...gold, kind: "invented tail", statement: `${bare}${tails[index % tails.length]}.` },
  ];
}
