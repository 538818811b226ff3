/** As much of a document as the page's script uses, and nothing more: what else it names is not there. */

type Child = SmallElement | string;

export class SmallElement {
  readonly name: string;
  readonly dataset: Record<string, string | undefined> = {};
  readonly attributes: Record<string, string> = {};
  id = "";
  className = "";
  hidden = false;
  href = "";
  parent: SmallElement | null = null;
  children: Child[] = [];
  /** Of its bottom, pixels. */
  bottom = 0;
  readonly #clicked: (() => void)[] = [];

  constructor(name: string) {
    this.name = name;
  }

  get elements(): SmallElement[] {
    return this.children.filter((child) => typeof child !== "string");
  }

  get textContent(): string {
    return this.children.map((child) => (typeof child === "string" ? child : child.textContent)).join("");
  }

  set textContent(text: string) {
    this.replaceChildren(text);
  }

  get firstElementChild(): SmallElement | null {
    return this.elements[0] ?? null;
  }

  get lastElementChild(): SmallElement | null {
    return this.elements.at(-1) ?? null;
  }

  get nextElementSibling(): SmallElement | null {
    const siblings = this.parent?.elements ?? [];
    return siblings[siblings.indexOf(this) + 1] ?? null;
  }

  #put(at: number, nodes: readonly Child[]): void {
    for (const node of nodes) {
      if (typeof node === "string") continue;
      node.remove();
      node.parent = this;
    }
    this.children.splice(at, 0, ...nodes);
  }

  append(...nodes: Child[]): void {
    for (const node of nodes) if (typeof node !== "string") node.remove();
    this.#put(this.children.length, nodes);
  }

  prepend(...nodes: Child[]): void {
    this.#put(0, nodes);
  }

  before(...nodes: Child[]): void {
    if (this.parent !== null) this.parent.#put(this.parent.children.indexOf(this), nodes);
  }

  after(...nodes: Child[]): void {
    if (this.parent !== null) this.parent.#put(this.parent.children.indexOf(this) + 1, nodes);
  }

  replaceWith(...nodes: Child[]): void {
    this.after(...nodes);
    this.remove();
  }

  replaceChildren(...nodes: Child[]): void {
    this.children = [];
    this.append(...nodes);
  }

  remove(): void {
    if (this.parent !== null) this.parent.children = this.parent.children.filter((child) => child !== this);
    this.parent = null;
  }

  /** @param selector `name.class`, `name`, `.class`, `#id`, `name[id]` or `[data-name]` */
  matches(selector: string): boolean {
    const [, name = "", rest = ""] = /^([a-z]*)(.*)$/.exec(selector) ?? [];
    if (name !== "" && name !== this.name) return false;
    if (rest.startsWith(".")) return this.className.split(" ").includes(rest.slice(1));
    if (rest.startsWith("#")) return this.id === rest.slice(1);
    if (rest === "[id]") return this.id !== "";
    if (rest.startsWith("[data-")) return this.dataset[rest.slice(6, -1)] !== undefined;
    return rest === "";
  }

  querySelectorAll(selector: string): SmallElement[] {
    return this.elements.flatMap((one) => [
      ...(one.matches(selector) ? [one] : []),
      ...one.querySelectorAll(selector),
    ]);
  }

  querySelector(selector: string): SmallElement | null {
    return this.querySelectorAll(selector)[0] ?? null;
  }

  setAttribute(name: string, value: string): void {
    this.attributes[name] = value;
  }

  getBoundingClientRect(): { readonly bottom: number } {
    return { bottom: this.parent?.bottom ?? this.bottom };
  }

  scrollIntoView(): void {
    if (this.parent !== null) this.parent.bottom = 0;
  }

  addEventListener(_: string, listener: () => void): void {
    this.#clicked.push(listener);
  }

  click(): void {
    for (const listener of this.#clicked) listener();
  }
}
