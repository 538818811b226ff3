// proves: src/daemon/http/page/client/replay.ts, src/daemon/http/page/assets.ts
// The script as it is served, without a browser: `test/e2e/page.test.ts` plays a day in one.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createContext, runInContext } from "node:vm";
import { REPLAY_ASSET } from "../../../../../src/daemon/http/page/assets.ts";
import { SmallElement } from "./small-document.ts";

/** A request of the script, which the test answers. */
class Asked {
  responseType = "";
  timeout = 0;
  status = 0;
  responseXML: object | null = null;
  address = "";
  isAborted = false;
  #over: () => void = () => undefined;

  open(_: string, address: string): void {
    this.address = address;
  }

  addEventListener(_: string, over: () => void): void {
    this.#over = over;
  }

  send(): void {
    assert.equal(this.responseType, "document");
  }

  abort(): void {
    this.isAborted = true;
    this.#over();
  }

  answer(status: number, words: string | null): void {
    this.status = status;
    this.responseXML =
      words === null ? null : documentOf(new SmallElement("form"), slider(), momentOf(words));
    this.#over();
  }
}

/** An element with what a slider and a form have beside. */
class Control extends SmallElement {
  value = "";
  readonly listeners = new Map<string, (event: { preventDefault(): void }) => void>();

  override addEventListener(type: string, listener: () => void): void {
    this.listeners.set(type, listener);
    if (type === "click") super.addEventListener(type, listener);
  }

  send(type: string): void {
    this.listeners.get(type)?.({ preventDefault: () => undefined });
  }

  getAttribute(name: string): string | null {
    return this.attributes[name] ?? null;
  }
}

function slider(): Control {
  const made = Object.assign(new Control("input"), { value: "100" });
  made.setAttribute("aria-valuetext", "ten past ten");
  return made;
}

function momentOf(words: string): SmallElement {
  const made = Object.assign(new SmallElement("div"), { id: "moment" });
  made.append(words);
  return made;
}

interface ReplayedDocument {
  querySelector(selector: string): SmallElement | null;
}

function documentOf(form: SmallElement, input: Control, moment: SmallElement): ReplayedDocument {
  const body = new SmallElement("body");
  body.append(form, moment);
  const beside = {
    createElement: (name: string) => new Control(name),
    adoptNode: (element: SmallElement) => element,
  };
  return {
    ...beside,
    querySelector: (selector: string) =>
      selector === "form.replay" ? form : selector === "#moment" ? body.querySelector("#moment") : input,
  };
}

/** Runs the script in a page with these moments. */
function open(moments: readonly number[]) {
  const asked: Asked[] = [];
  const later: (() => void)[] = [];
  const addresses: string[] = [];
  const form = new Control("form");
  Object.assign(form.dataset, { page: "/page/replay?id=a", moments: moments.join(" ") });
  const input = slider();
  const shown = documentOf(form, input, momentOf("at first"));
  const context = createContext({
    document: shown,
    window: {
      setTimeout: (work: () => void) => later.push(work),
      clearTimeout: (timer: number | undefined) =>
        timer !== undefined && later.splice(timer - 1, 1, () => undefined),
    },
    history: { replaceState: (_: null, __: string, address: string) => addresses.push(address) },
    XMLHttpRequest: class extends Asked {
      constructor() {
        super();
        asked.push(this);
      }
    },
  });
  runInContext(REPLAY_ASSET.text, context);
  const [button, status] = form.elements;
  assert.ok(button !== undefined && status !== undefined);
  const words = (): string => shown.querySelector("#moment")?.textContent ?? "";
  return { asked, later, addresses, form, input, button, status, words };
}

test("it plays from moment to moment, each once it has come, to the end, and then from the beginning", () => {
  const { asked, later, addresses, button, status, words } = open([50, 100, 150, 200]);
  assert.equal(button.textContent, "▶ Play");
  button.click();
  assert.deepEqual(
    asked.map(({ address }) => address),
    ["/page/replay?id=a&at=150"],
  );
  assert.equal(button.textContent, "❚❚ Pause");
  asked[0]?.answer(200, "at 150");
  assert.equal(words(), "at 150");
  assert.equal(asked.length, 1, "it waits");
  later.pop()?.();
  asked[1]?.answer(200, "at 200");
  later.pop()?.();
  assert.deepEqual(
    [words(), status.textContent, button.textContent],
    ["at 200", "This is the end.", "▶ Play"],
  );
  assert.deepEqual(addresses, ["/page/replay?id=a&at=150", "/page/replay?id=a&at=200"]);
  button.click();
  assert.equal(asked[2]?.address, "/page/replay?id=a&at=50");
});

test("a moved slider ends the play, and shows the last place alone", () => {
  const { asked, later, input, button, words } = open([50, 100, 150, 200]);
  button.click();
  input.value = "120";
  input.send("input");
  assert.equal(asked[0]?.isAborted, true);
  input.value = "180";
  input.send("input");
  for (const work of later.splice(0)) work();
  assert.deepEqual(
    asked.map(({ address }) => address.split("&")[1]),
    ["at=150", "at=180"],
  );
  asked[1]?.answer(200, "at 180");
  assert.deepEqual([words(), button.textContent], ["at 180", "▶ Play"]);
  assert.equal(input.getAttribute("aria-valuetext"), "ten past ten");
  assert.equal(later.length, 0, "it does not go on");
});

test("what cannot be loaded leaves the page as it is, and says so", () => {
  for (const [status, answer] of [
    [401, "sign in"],
    [200, null],
    [0, null],
  ] as const) {
    const { asked, button, status: told, words, form, input } = open([100, 150]);
    button.click();
    asked[0]?.answer(status, answer);
    assert.deepEqual([words(), button.textContent], ["at first", "▶ Play"]);
    assert.match(told.textContent, /could not be loaded: reload/);
    input.value = "130";
    form.send("submit");
    asked[1]?.answer(200, "at 130");
    assert.equal(words(), "at 130");
  }
});
