import type { PageElement, PageWindow } from "./dom.ts";

interface PageInput extends PageElement {
  value: string;
  addEventListener(type: "input" | "click", listener: () => void): void;
}

interface PageForm extends PageElement {
  addEventListener(type: "submit" | "click", listener: (event: { preventDefault(): void }) => void): void;
}

interface ReplayedDocument {
  querySelector(selector: "form.replay"): PageForm | null;
  querySelector(selector: "form.replay input[name=at]"): PageInput | null;
  querySelector(selector: "#moment"): PageElement | null;
}

declare const document: ReplayedDocument & {
  createElement(name: string): PageElement;
  adoptNode(element: PageElement): PageElement;
};
declare const window: Pick<PageWindow, "setTimeout" | "clearTimeout">;
declare const history: { replaceState(state: null, unused: "", address: string): void };
declare const XMLHttpRequest: new () => {
  responseType: string;
  timeout: number;
  readonly status: number;
  readonly responseXML: ReplayedDocument | null;
  open(method: string, address: string): void;
  addEventListener(type: "loadend", listener: () => void): void;
  send(): void;
  abort(): void;
};

/**
 * Plays the last day of a channel, in a browser: it is served as its own source text, so it uses nothing outside of itself. For each moment
 * it takes the part of the same page that tells of it, as the browser itself has read it: it makes no markup of texts.
 */
export class Replay {
  /** Between two steps, and before a moment is asked for while the slider moves, ms. */
  static readonly #stepMs = 700;
  static readonly #settleMs = 120;
  static readonly #timeoutMs = 20_000;
  static readonly #mostSteps = 150;

  readonly #form: PageForm;
  readonly #slider: PageInput;
  readonly #button: PageElement;
  readonly #status: PageElement;
  readonly #moments: readonly number[];
  #at: number;
  #request: InstanceType<typeof XMLHttpRequest> | null = null;
  #timer: number | undefined;
  #isPlaying = false;

  /** Does nothing on other pages. */
  static begin(): void {
    const form = document.querySelector("form.replay");
    const slider = document.querySelector("form.replay input[name=at]");
    if (form !== null && slider !== null) new Replay(form, slider).#start();
  }

  constructor(form: PageForm, slider: PageInput) {
    this.#form = form;
    this.#slider = slider;
    this.#button = document.createElement("button");
    this.#status = document.createElement("span");
    this.#at = Number(slider.value);
    const all = (form.dataset["moments"] ?? "").split(" ").map(Number);
    const stride = Math.ceil(all.length / Replay.#mostSteps);
    this.#moments = all.filter((_, place) => place % stride === 0 || place === all.length - 1);
  }

  #start(): void {
    this.#button.type = "button";
    this.#status.setAttribute("role", "status");
    this.#status.className = "dim";
    this.#button.addEventListener("click", () => (this.#isPlaying ? this.#pause("") : this.#play()));
    this.#form.append(this.#button, this.#status);
    this.#slider.addEventListener("input", () => {
      this.#pause("");
      this.#timer = window.setTimeout(() => this.#show(Number(this.#slider.value)), Replay.#settleMs);
    });
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#pause("");
      this.#show(Number(this.#slider.value));
    });
    this.#pause("");
  }

  #play(): void {
    this.#isPlaying = true;
    this.#button.textContent = "❚❚ Pause";
    // From the beginning again, where it has come to the end.
    if (this.#next === undefined) this.#at = 0;
    this.#step();
  }

  /** @param why it does not go on, in a sentence; "": nothing is wrong */
  #pause(why: string): void {
    window.clearTimeout(this.#timer);
    this.#cancel();
    this.#isPlaying = false;
    this.#button.textContent = "▶ Play";
    this.#status.textContent = why;
  }

  /** What was asked for before is not shown when it comes. */
  #cancel(): void {
    const request = this.#request;
    this.#request = null;
    request?.abort();
  }

  get #next(): number | undefined {
    return this.#moments.find((at) => at > this.#at);
  }

  #step(): void {
    const next = this.#next;
    if (next === undefined) this.#pause("This is the end.");
    else this.#show(next);
  }

  /** Of several moments that are asked for, the last is shown. */
  #show(at: number): void {
    this.#cancel();
    const address = `${this.#form.dataset["page"] ?? ""}&at=${at}`;
    const request = new XMLHttpRequest();
    this.#request = request;
    request.addEventListener("loadend", () => {
      if (this.#request !== request) return;
      this.#request = null;
      this.#take(at, address, request.status === 200 ? request.responseXML : null);
    });
    request.open("GET", address);
    request.responseType = "document";
    request.timeout = Replay.#timeoutMs;
    request.send();
  }

  #take(at: number, address: string, page: ReplayedDocument | null): void {
    const shown = document.querySelector("#moment");
    const next = page?.querySelector("#moment") ?? null;
    if (shown === null || next === null) {
      this.#pause("This moment could not be loaded: reload the page.");
      return;
    }
    const isOpen = shown.querySelector("details.plain[open]") !== null;
    shown.replaceWith(document.adoptNode(next));
    if (isOpen) next.querySelector("details.plain")?.setAttribute("open", "");
    this.#at = at;
    this.#slider.value = String(at);
    this.#slider.setAttribute(
      "aria-valuetext",
      page?.querySelector("form.replay input[name=at]")?.getAttribute("aria-valuetext") ?? "",
    );
    history.replaceState(null, "", address);
    if (this.#isPlaying) this.#timer = window.setTimeout(() => this.#step(), Replay.#stepMs);
  }
}
