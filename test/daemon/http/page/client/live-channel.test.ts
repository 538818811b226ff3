// proves: src/daemon/http/page/client/live-channel.ts, src/daemon/http/page/assets.ts
import assert from "node:assert/strict";
import { createContext, runInContext } from "node:vm";
import { test } from "node:test";
import { LIVE_ASSET } from "../../../../../src/daemon/http/page/assets.ts";
import type { Row } from "../../../../../src/daemon/http/page/channel/row.ts";
import { SmallElement } from "./small-document.ts";

interface Source {
  readonly address: string;
  readyState: number;
  isClosed: boolean;
  /** @param id default: as before */
  readonly send: (type: string, data?: object, id?: string) => void;
}

interface Opened {
  readonly log: SmallElement;
  readonly line: SmallElement;
  readonly body: SmallElement;
  readonly sources: Source[];
  /** The newest. */
  readonly send: Source["send"];
  readonly rows: () => string[];
  readonly see: (isSeen: boolean) => void;
  readonly reloads: () => number;
  readonly later: (() => void)[];
}

/** A browser's own, whose server is the test. */
function eventSourcesIn(sources: Source[]): new (address: string) => object {
  return class {
    readonly #source: Source;
    readonly #listeners = new Map<string, (event: object) => void>();
    #id = "";

    constructor(address: string) {
      const send: Source["send"] = (type, data = {}, id = this.#id) => {
        this.#id = id;
        this.#listeners.get(type)?.({ data: JSON.stringify(data), lastEventId: id });
      };
      this.#source = { address, readyState: 1, isClosed: false, send };
      sources.push(this.#source);
    }

    get readyState(): number {
      return this.#source.readyState;
    }

    addEventListener(type: string, listener: (event: object) => void): void {
      this.#listeners.set(type, listener);
    }

    close(): void {
      this.#source.isClosed = true;
    }
  };
}

/** Runs the script as it is served, in a page with these rows. */
function open(rows: readonly Row[] = []): Opened {
  const body = new SmallElement("body");
  const log = Object.assign(new SmallElement("ol"), { className: "log" });
  const line = Object.assign(new SmallElement("p"), { className: "live dim", hidden: true });
  const events = "/page/events?id=a&from=";
  const from = rows.length === 0 ? "2-2-0" : "0-0-0";
  Object.assign(line.dataset, { events, from, page: "/page/channel?id=a" });
  body.append(log, line);
  const sources: Source[] = [];
  const later: (() => void)[] = [];
  let isHidden = false;
  let reloads = 0;
  const onDocument = new Map<string, () => void>();
  const context = createContext({
    document: {
      body,
      get hidden() {
        return isHidden;
      },
      createElement: (name: string) => new SmallElement(name),
      querySelector: (selector: string) => body.querySelector(selector),
      querySelectorAll: (selector: string) => body.querySelectorAll(selector),
      addEventListener: (type: string, listener: () => void) => onDocument.set(type, listener),
    },
    window: {
      innerHeight: 100,
      location: { reload: () => reloads++ },
      matchMedia: () => ({ matches: true }),
      setTimeout: (work: () => void) => later.push(work),
      clearTimeout: () => undefined,
    },
    EventSource: eventSourcesIn(sources),
  });
  runInContext(LIVE_ASSET.text, context);
  const send: Source["send"] = (...event) => sources.at(-1)?.send(...event);
  for (const one of rows) send("row", one);
  return {
    log,
    line,
    body,
    sources,
    send,
    later,
    rows: () => log.elements.map(({ className, textContent }) => `${className}: ${textContent}`),
    see(isSeen) {
      isHidden = !isSeen;
      onDocument.get("visibilitychange")?.();
    },
    reloads: () => reloads,
  };
}

function row(seq: number, overrides: Partial<Row> = {}): Row {
  return {
    seq,
    turn: null,
    after: null,
    speaks: "person",
    at: "2026-05-01T12:00:00.000Z",
    day: "2026-05-01",
    minute: "12:00",
    title: `entry ${seq}`,
    speaker: "Ann",
    marks: [],
    text: `<b>line ${seq}</b>`,
    isDim: false,
    all: null,
    ...overrides,
  };
}

test("rows stand in the order of the model, once, each with its texts as texts, under their day", () => {
  const page = open([row(1), row(3), row(4, { day: "2026-05-02" })]);
  page.send("row", row(5, { after: 1, speaks: "agent", speaker: "[mira]", text: "yes", marks: ["stopped"] }));
  page.send("row", row(3, { text: "its text is gone", isDim: true, marks: ["deleted"] }));
  const all = { path: "/page/source?id=a&from=6&to=6", words: "all 9,000 characters" };
  page.send("row", row(6, { day: "2026-05-02", text: "long …", all }));
  assert.deepEqual(page.rows(), [
    "note dim date: 2026-05-01",
    "person: 12:00Ann<b>line 1</b>",
    "agent: 12:00[mira] stoppedyes",
    "person: 12:00Ann deletedits text is gone",
    "note dim date: 2026-05-02",
    "person: 12:00Ann<b>line 4</b>",
    "person: 12:00Annlong … all 9,000 characters",
  ]);
  assert.equal(page.log.querySelector("a")?.href, all.path);
  assert.equal(page.log.attributes["aria-live"], "polite");
});

test("an answer that is being written stands at the end, and gives way to its row", () => {
  const page = open([row(1)]);
  page.send("draft", { speaker: "[mira]", text: "It lies" });
  page.send("draft", { speaker: "[mira]", text: "It lies under" });
  page.send("row", row(2));
  assert.deepEqual(page.rows().slice(2), [
    "person: 12:00Ann<b>line 2</b>",
    "agent draft: [mira]It lies under",
  ]);
  assert.equal(page.log.lastElementChild?.attributes["aria-live"], "off");
  page.send(
    "row",
    row(3, { after: 1, speaks: "agent", speaker: "[mira]", text: "It lies under the stone." }),
  );
  page.send("draft", { speaker: "", text: "" });
  assert.deepEqual(page.rows().slice(1), [
    "person: 12:00Ann<b>line 1</b>",
    "agent: 12:00[mira]It lies under the stone.",
    "person: 12:00Ann<b>line 2</b>",
  ]);
});

test("a change of an entry that the page does not show is of no row there", () => {
  const page = open([row(56), row(57)]);
  page.send("row", row(3, { text: "its text is gone", isDim: true }));
  assert.equal(page.log.querySelectorAll("li[id]").length, 2);
  const covered = open();
  covered.send("row", row(2));
  assert.equal(covered.log.querySelectorAll("li[id]").length, 0);
  covered.send("row", row(3));
  assert.equal(covered.log.querySelectorAll("li[id]").length, 1);
});

test("200 rows are kept, with the day of the first, and a link to older ones", () => {
  const page = open(Array.from({ length: 205 }, (_, index) => row(index + 1)));
  assert.equal(page.log.querySelectorAll("li[id]").length, 200);
  assert.equal(page.rows()[0], "note dim date: 2026-05-01");
  assert.equal(page.log.elements[1]?.id, "entry-6");
  assert.equal(page.body.querySelector("a.older")?.href, "/page/channel?id=a&before=6");
});

test("new rows below what is seen are counted, and are not scrolled to", () => {
  const page = open([row(1)]);
  const newest = page.body.querySelector("button");
  assert.ok(newest !== null && newest.hidden);
  page.log.bottom = 1000;
  page.send("row", row(2));
  page.send("row", row(2));
  page.send("row", row(3));
  assert.deepEqual([newest.hidden, newest.textContent], [false, "new ↓2"]);
  newest.click();
  assert.equal(newest.hidden, true);
});

test("a page that nobody sees has no stream, and resumes where it was", () => {
  const page = open();
  assert.equal(page.sources[0]?.address, "/page/events?id=a&from=2-2-0");
  page.send("row", row(3), "3-2-0");
  page.send("draft", { speaker: "[mira]", text: "so" });
  page.see(false);
  assert.deepEqual([page.sources.length, page.sources[0]?.isClosed], [1, true]);
  page.see(true);
  assert.equal(page.sources[1]?.address, "/page/events?id=a&from=3-2-0");
  page.send("open");
  assert.equal(page.log.querySelector(".draft"), null, "its turn may have ended meanwhile");
});

test("the line says whether the page is live, and what has changed beside the conversation", () => {
  const page = open();
  page.send("where", { isHere: true });
  assert.deepEqual([page.line.hidden, page.line.textContent], [false, "Live."]);
  page.send("compaction", { words: "Beside the talk: merging older summaries.", isOver: false });
  assert.equal(page.line.textContent, "Live. Beside the talk: merging older summaries.");
  page.send("settled", { outcome: "answered" });
  assert.match(page.line.textContent, /\. The numbers have changed since: reload$/);
  assert.equal(page.line.querySelector("a")?.href, "/page/channel?id=a");
  page.send("where", { isHere: false });
  assert.match(page.line.textContent, /^Another daemon runs this channel/);
  const source = page.sources[0];
  assert.ok(source !== undefined);
  page.send("error");
  assert.equal(page.line.textContent, "Connecting again … ");
  source.readyState = 2;
  page.send("error");
  assert.equal(page.line.textContent, "Not live: reload to see what is new. reload");
  page.later[0]?.();
  assert.equal(page.sources.length, 2);
});

test("what is made of an edited or deleted text leaves the page at once, or the page is loaded again", () => {
  const page = open();
  const band = new SmallElement("p");
  band.textContent = "They spoke of 4711.";
  band.dataset["derived"] = "";
  page.body.append(band);
  page.send("changed");
  assert.equal(band.textContent, "A text was edited or deleted: reload");
  page.send("stale");
  assert.equal(page.reloads(), 1);
});

test("the script makes no markup, and names no address of its own", () => {
  assert.doesNotMatch(
    LIVE_ASSET.text,
    /innerHTML|outerHTML|insertAdjacentHTML|DOMParser|eval|https?:|import/,
  );
  assert.ok(LIVE_ASSET.text.split("\n").length < 300);
});
