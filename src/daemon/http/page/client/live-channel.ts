import type { Row } from "../channel/row.ts";
import type { PageDocument, PageElement, PageEventSource, PageWindow } from "./dom.ts";

declare const document: PageDocument;
declare const window: PageWindow;
declare const EventSource: new (address: string) => PageEventSource;

/**
 * Keeps the page of a channel up to date, in a browser: it is served as its own source text, so it uses nothing outside of itself.
 * It makes elements and texts, never markup. Its stream is closed while nobody sees the page, and resumes where it was.
 */
export class LiveChannel {
  static readonly #rowsShown = 200;
  /** Pixels below the window within which the end of the log still counts as seen. */
  static readonly #nearEnd = 80;
  static readonly #againMs = 30_000;

  readonly #line: PageElement;
  readonly #log: PageElement;
  readonly #newest: PageElement;
  /** The newest entry when the page was loaded. */
  readonly #loadedTo: number;
  #source: PageEventSource | null = null;
  #again: number | undefined;
  /** Where the stream resumes. */
  #from: string;
  #isHere = true;
  /** The last news, in a sentence: the line of the page goes on showing it. */
  #news = "";
  /** What the page shows beside the conversation is no longer so. */
  #isOutdated = false;
  #draft: PageElement | null = null;
  #unseen = 0;

  /** Does nothing on pages that are not live. */
  static begin(): void {
    const line = document.querySelector("p.live");
    const log = document.querySelector("ol.log");
    if (line !== null && log !== null) new LiveChannel(line, log).#start();
  }

  constructor(line: PageElement, log: PageElement) {
    this.#line = line;
    this.#log = log;
    this.#from = line.dataset["from"] ?? "";
    this.#loadedTo = Number.parseInt(this.#from, 10);
    this.#newest = document.createElement("button");
  }

  #start(): void {
    // It stays a list: as a "log" it would have no items.
    this.#log.setAttribute("aria-live", "polite");
    this.#newest.type = "button";
    this.#newest.className = "newest";
    this.#newest.hidden = true;
    this.#newest.addEventListener("click", () => this.#toEnd("smooth"));
    document.body.append(this.#newest);
    this.#line.hidden = false;
    document.addEventListener("visibilitychange", () => this.#openOrClose());
    document.addEventListener("scroll", () => this.#unseen > 0 && this.#isAtEnd && this.#count(0), {
      passive: true,
    });
    this.#openOrClose();
  }

  #openOrClose(): void {
    window.clearTimeout(this.#again);
    this.#source?.close();
    this.#source = null;
    if (document.hidden) return;
    const source = new EventSource(`${this.#line.dataset["events"] ?? ""}${this.#from}`);
    this.#source = source;
    const on = (type: string, work: (data: string) => void): void =>
      source.addEventListener(type, (event) => {
        if (event.lastEventId !== "") this.#from = event.lastEventId;
        work(event.data);
      });
    source.addEventListener("open", () => {
      // An answer that is still being written is told again.
      this.#write({ speaker: "", text: "" });
      this.#say();
    });
    source.addEventListener("error", () => {
      const isOver = source.readyState === 2;
      this.#line.textContent = isOver ? "Not live: reload to see what is new. " : "Connecting again … ";
      if (isOver) this.#line.append(this.#reloadLink());
      if (isOver) this.#again = window.setTimeout(() => this.#openOrClose(), LiveChannel.#againMs);
    });
    on("where", (data) => {
      this.#isHere = JSON.parse(data).isHere;
      this.#say();
    });
    on("row", (data) => this.#show(JSON.parse(data)));
    on("draft", (data) => this.#write(JSON.parse(data)));
    on("settled", () => this.#tell("", true));
    on("compaction", (data) => {
      const { words, isOver } = JSON.parse(data);
      this.#tell(words, isOver);
    });
    on("changed", () => this.#forget());
    on("stale", () => window.location.reload());
  }

  #tell(news: string, isOutdated: boolean): void {
    if (news !== "") this.#news = news;
    this.#isOutdated ||= isOutdated;
    this.#say();
  }

  #say(): void {
    const where = this.#isHere
      ? "Live."
      : "Another daemon runs this channel: this page looks every few seconds, and shows no answer while it is written.";
    const text = this.#news === "" ? where : `${where} ${this.#news}`;
    if (!this.#isOutdated) this.#line.textContent = text;
    else this.#line.replaceChildren(`${text} The numbers have changed since: `, this.#reloadLink());
  }

  #reloadLink(): PageElement {
    const link = document.createElement("a");
    link.href = this.#line.dataset["page"] ?? "";
    link.textContent = "reload";
    return link;
  }

  /** A text was edited or deleted: what is made of it is shown no longer. */
  #forget(): void {
    for (const element of document.querySelectorAll("[data-derived]")) {
      element.className = "dim";
      element.replaceChildren("A text was edited or deleted: ", this.#reloadLink());
    }
    this.#tell("", true);
  }

  /** Replaces the row of this entry, or puts it where it stands. */
  #show(row: Row): void {
    const isFollowed = this.#isAtEnd;
    const item = this.#item(row);
    const known = this.#log.querySelector(`#${item.id}`);
    if (known !== null) {
      // Its place at the side was not told.
      if (known.matches(".ahead")) item.className += " ahead";
      known.replaceWith(item);
      return;
    }
    const rows = [...this.#rows];
    const before = rows.findLast((one) => LiveChannel.#isBefore(one, item));
    // A change of an entry that is covered, or was taken off the page, is of no row here.
    if (before === undefined && (rows.length > 0 || row.seq <= this.#loadedTo)) return;
    if (row.speaks === "agent") {
      this.#write({ speaker: "", text: "" });
      this.#tell("", true);
    }
    const after = before === undefined ? null : before.nextElementSibling;
    const days = [...this.#log.querySelectorAll(".date")];
    const isAtEnd = after === null || after === this.#draft;
    if (before === undefined) this.#log.append(item);
    else before.after(item);
    if (isAtEnd && days.at(-1)?.textContent !== row.day)
      item.before(this.#made("li", "note dim date", row.day));
    if (this.#draft !== null) this.#log.append(this.#draft);
    this.#trim();
    if (isFollowed) this.#toEnd("auto");
    else this.#count(this.#unseen + 1);
  }

  get #rows(): Iterable<PageElement> {
    return this.#log.querySelectorAll("li[id]");
  }

  /** The order of the server: entries of a turn stand after its last message. */
  static #isBefore(one: PageElement, other: PageElement): boolean {
    const [a, b] = [one, other].map(({ id, dataset }) => {
      const seq = Number(id.slice("entry-".length));
      const after = dataset["after"] ?? "";
      return [after === "" ? seq : Number(after), after === "" ? 0 : 1, seq] as const;
    });
    if (a === undefined || b === undefined) return false;
    return (a[0] - b[0] || a[1] - b[1] || a[2] - b[2]) < 0;
  }

  #item({ seq, after, speaks, at, minute, title, speaker, marks, text, isDim, all, turn }: Row): PageElement {
    const item = this.#made("li", speaks, "");
    item.id = `entry-${seq}`;
    item.dataset["after"] = after === null ? "" : String(after);
    const time = this.#made("time", "", minute);
    time.dateTime = at;
    time.title = title;
    const who = this.#made("span", "who", speaker);
    for (const mark of marks) who.append(" ", this.#made("small", "", mark));
    const said = this.#made("span", "text", isDim ? "" : text);
    if (isDim) said.append(this.#made("i", "dim", text));
    if (all !== null) said.append(" ", this.#link("", all.path, all.words));
    if (turn !== null) said.append(" ", this.#link("turn", turn, "turn"));
    item.append(time, who, said);
    return item;
  }

  #link(className: string, path: string, words: string): PageElement {
    const link = this.#made("a", className, words);
    link.href = path;
    return link;
  }

  #made(name: string, className: string, text: string): PageElement {
    const element = document.createElement(name);
    if (className !== "") element.className = className;
    if (text !== "") element.textContent = text;
    return element;
  }

  /** Shows the text of the answer that is being written. An empty text takes the answer off the page. */
  #write({ speaker, text }: { readonly speaker: string; readonly text: string }): void {
    if (text === "") {
      this.#draft?.remove();
      this.#draft = null;
      return;
    }
    const isFollowed = this.#isAtEnd;
    if (this.#draft === null) {
      this.#draft = this.#made("li", "agent draft", "");
      // Only the whole answer is read out.
      this.#draft.setAttribute("aria-live", "off");
      this.#draft.append(
        this.#made("span", "", ""),
        this.#made("span", "who", ""),
        this.#made("span", "text", ""),
      );
      this.#log.append(this.#draft);
    }
    const [who, said] = [this.#draft.querySelector(".who"), this.#draft.querySelector(".text")];
    if (who !== null) who.textContent = speaker;
    if (said !== null) said.textContent = text;
    if (isFollowed) this.#toEnd("auto");
  }

  /** Keeps the newest rows, and the day of the first of them. */
  #trim(): void {
    const rows = [...this.#rows];
    const first = rows[rows.length - LiveChannel.#rowsShown];
    if (rows.length <= LiveChannel.#rowsShown || first === undefined) return;
    let day: PageElement | null = null;
    for (let one = this.#log.firstElementChild; one !== null && one !== first;) {
      const next = one.nextElementSibling;
      if (one.matches(".date")) day = one;
      one.remove();
      one = next;
    }
    if (day !== null) this.#log.prepend(day);
    let older = document.querySelector("a.older");
    if (older === null) {
      older = this.#made("a", "older", "↑ older");
      const above = this.#made("p", "", "");
      above.append(older);
      this.#log.before(above);
    }
    older.href = `${this.#line.dataset["page"] ?? ""}&before=${first.id.slice("entry-".length)}`;
  }

  get #isAtEnd(): boolean {
    const end = this.#log.lastElementChild;
    return end === null || end.getBoundingClientRect().bottom <= window.innerHeight + LiveChannel.#nearEnd;
  }

  #toEnd(behavior: "auto" | "smooth"): void {
    const isCalm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.#log.lastElementChild?.scrollIntoView({ block: "end", behavior: isCalm ? "auto" : behavior });
    this.#count(0);
  }

  /** @param unseen rows below what is seen */
  #count(unseen: number): void {
    this.#unseen = unseen;
    this.#newest.hidden = unseen === 0;
    this.#newest.textContent = `new ↓${unseen}`;
  }
}
