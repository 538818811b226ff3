/** The parts of a browser that the page's script uses: Weir's types are those of Node. */

export interface PageElement {
  id: string;
  className: string;
  textContent: string | null;
  hidden: boolean;
  title: string;
  href: string;
  dateTime: string;
  type: string;
  readonly dataset: Record<string, string | undefined>;
  readonly lastElementChild: PageElement | null;
  readonly firstElementChild: PageElement | null;
  readonly nextElementSibling: PageElement | null;
  append(...nodes: (PageElement | string)[]): void;
  prepend(...nodes: (PageElement | string)[]): void;
  before(...nodes: (PageElement | string)[]): void;
  after(...nodes: (PageElement | string)[]): void;
  replaceWith(...nodes: (PageElement | string)[]): void;
  replaceChildren(...nodes: (PageElement | string)[]): void;
  remove(): void;
  matches(selector: string): boolean;
  setAttribute(name: string, value: string): void;
  getAttribute(name: string): string | null;
  querySelector(selector: string): PageElement | null;
  querySelectorAll(selector: string): Iterable<PageElement>;
  getBoundingClientRect(): { readonly bottom: number };
  scrollIntoView(how: { block: "end"; behavior: "auto" | "smooth" }): void;
  addEventListener(type: "click", listener: () => void): void;
}

export interface PageDocument extends Pick<PageElement, "querySelector" | "querySelectorAll"> {
  readonly hidden: boolean;
  readonly body: PageElement;
  createElement(name: string): PageElement;
  addEventListener(
    type: "visibilitychange" | "scroll",
    listener: () => void,
    options?: { passive: boolean },
  ): void;
}

export interface PageEventSource {
  /** 2: it will not connect again by itself. */
  readonly readyState: number;
  addEventListener(
    type: string,
    listener: (event: { readonly data: string; readonly lastEventId: string }) => void,
  ): void;
  close(): void;
}

export interface PageWindow {
  readonly innerHeight: number;
  readonly location: { reload(): void };
  matchMedia(query: string): { readonly matches: boolean };
  setTimeout(work: () => void, ms: number): number;
  clearTimeout(timer: number | undefined): void;
}
