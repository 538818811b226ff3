/** A real browser, driven by its own debugging protocol: an installed Chromium or Chrome. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { z } from "zod";
import { until } from "./patience.ts";

const PROGRAMS = ["chromium", "chromium-browser", "google-chrome", "chrome"];
/** Nothing that weakens what a page may do: a test of the page's policy would prove nothing. */
const FLAGS = [
  "--headless=new",
  "--remote-debugging-port=0",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--disable-gpu",
  "--disable-dev-shm-usage",
];

/** The path of an installed browser; null: there is none. */
export function findBrowser(): string | null {
  const folders = (process.env["PATH"] ?? "").split(path.delimiter);
  const files = PROGRAMS.flatMap((name) => folders.map((folder) => path.join(folder, name)));
  return files.find(isProgram) ?? null;
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

interface Answer {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly message: string };
}

type Send = (method: string, params: object) => Promise<Readonly<Record<string, unknown>>>;

const logEntry = z.object({ level: z.string(), text: z.string(), url: z.string().default("") });
const evaluated = z.object({ value: z.unknown() });

/** Of the keys that tests press, as Windows numbers them. */
const KEY_CODES: Readonly<Record<string, number>> = { Tab: 9, Enter: 13 };
const MOST_TABS = 300;

/** One tab. */
export class Tab {
  readonly #send: Send;
  /** Errors of scripts, of the policy and of the network, in words. */
  readonly errors: string[] = [];
  #loads = 0;
  #awaited: PromiseWithResolvers<void> | null = null;

  constructor(send: Send) {
    this.#send = send;
  }

  async call(method: string, params: object = {}): Promise<Readonly<Record<string, unknown>>> {
    return this.#send(method, params);
  }

  /** @param method of an event */
  take(method: string, params: Readonly<Record<string, unknown>>): void {
    if (method === "Page.loadEventFired") {
      this.#loads++;
      this.#awaited?.resolve();
    }
    if (method === "Runtime.exceptionThrown") this.errors.push(JSON.stringify(params["exceptionDetails"]));
    if (method === "Log.entryAdded") this.#note(params["entry"]);
  }

  #note(entry: unknown): void {
    const { level, text, url } = logEntry.parse(entry);
    if (level === "error" || /policy/i.test(text)) this.errors.push(`${text} ${url}`);
  }

  /** Resolves once the page is loaded. @param act navigates */
  async untilLoaded(act: () => Promise<unknown>): Promise<void> {
    const before = this.#loads;
    this.#awaited = Promise.withResolvers<void>();
    await act();
    if (this.#loads === before) await this.#awaited.promise;
    this.#awaited = null;
  }

  async open(url: string): Promise<void> {
    await this.untilLoaded(async () => this.call("Page.navigate", { url }));
  }

  /** The value of an expression in the page. */
  async value(expression: string): Promise<unknown> {
    const { result } = await this.call("Runtime.evaluate", {
      expression,
      returnByValue: true,
      awaitPromise: true,
    });
    return evaluated.parse(result).value;
  }

  /** Resolves once an expression is true. */
  async until(expression: string): Promise<void> {
    await until(`page of which ${expression}`, async () => (await this.value(expression)) === true);
  }

  /** Presses a key as a person does. @param text what it types; default: nothing */
  async press(key: string, text = ""): Promise<void> {
    const code = KEY_CODES[key] ?? 0;
    await this.call("Input.dispatchKeyEvent", { type: "keyDown", key, windowsVirtualKeyCode: code, text });
    await this.call("Input.dispatchKeyEvent", { type: "keyUp", key, windowsVirtualKeyCode: code });
  }

  /** Goes on by the Tab key until the focused element meets a condition. @param condition of `here`, an expression */
  async tabTo(condition: string): Promise<void> {
    const focused = `((here) => [here !== null && here !== document.body && (${condition}),
      here === null || here === document.body || getComputedStyle(here).outlineStyle !== 'none'])(document.activeElement)`;
    for (let presses = 0; presses < MOST_TABS; presses++) {
      await this.press("Tab");
      const [isThere, isSeen] = z.tuple([z.boolean(), z.boolean()]).parse(await this.value(focused));
      assert.ok(isSeen, "what has the focus is marked");
      if (isThere) return;
    }
    throw new Error(`the Tab key leads to nothing of which ${condition}`);
  }

  /** @param width CSS pixels */
  async resize(width: number, height = 900): Promise<void> {
    await this.call("Emulation.setDeviceMetricsOverride", {
      width,
      height,
      deviceScaleFactor: 1,
      mobile: false,
    });
  }

  /** A picture of what is seen, PNG. */
  async picture(): Promise<Buffer> {
    const { data } = await this.call("Page.captureScreenshot", { format: "png" });
    return Buffer.from(String(data), "base64");
  }
}

export interface Browser extends AsyncDisposable {
  readonly flags: readonly string[];
  newTab(): Promise<Tab>;
}

export async function startBrowser(program: string): Promise<Browser> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(path.join(tmpdir(), "weir-browser-"));
  stack.defer(async () => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  // As root it has no sandbox of its own.
  const flags = [
    ...FLAGS,
    ...(process.getuid?.() === 0 ? ["--no-sandbox"] : []),
    `--user-data-dir=${folder}`,
  ];
  const child = spawn(program, [...flags, "about:blank"], { stdio: ["ignore", "ignore", "pipe"] });
  stack.defer(async () => {
    child.kill("SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  });
  const socket = new WebSocket(await addressOf(child));
  await once(socket, "open");
  const connection = new Connection(socket);
  const kept = stack.move();
  return {
    flags,
    newTab: async () => connection.newTab(),
    [Symbol.asyncDispose]: async () => kept.disposeAsync(),
  };
}

/** It tells the address of its protocol among its first lines. */
async function addressOf({ stderr }: ChildProcess): Promise<string> {
  assert.ok(stderr !== null);
  for await (const line of createInterface(stderr)) {
    const address = /^DevTools listening on (\S+)$/.exec(line)?.[1];
    if (address !== undefined) return address;
  }
  throw new Error("the browser has ended");
}

class Connection {
  readonly #socket: WebSocket;
  readonly #asked = new Map<number, PromiseWithResolvers<Readonly<Record<string, unknown>>>>();
  readonly #tabs = new Map<string, Tab>();
  #next = 0;

  constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => this.#take(String(data)));
  }

  async newTab(): Promise<Tab> {
    const { browserContextId } = await this.#send("Target.createBrowserContext", {});
    const { targetId } = await this.#send("Target.createTarget", { url: "about:blank", browserContextId });
    const { sessionId } = await this.#send("Target.attachToTarget", { targetId, flatten: true });
    const tab = new Tab(async (method, params) => this.#send(method, params, String(sessionId)));
    this.#tabs.set(String(sessionId), tab);
    for (const domain of ["Page", "Runtime", "Log", "Network"]) await tab.call(`${domain}.enable`);
    return tab;
  }

  async #send(
    method: string,
    params: object,
    sessionId?: string,
  ): Promise<Readonly<Record<string, unknown>>> {
    const id = ++this.#next;
    const answer = Promise.withResolvers<Readonly<Record<string, unknown>>>();
    this.#asked.set(id, answer);
    this.#socket.send(JSON.stringify({ id, method, params, ...(sessionId !== undefined && { sessionId }) }));
    return answer.promise;
  }

  #take(text: string): void {
    const {
      id,
      method,
      params = {},
      result = {},
      error,
      sessionId = "",
    }: Answer & { sessionId?: string } = JSON.parse(text);
    if (method !== undefined) this.#tabs.get(sessionId)?.take(method, params);
    if (id === undefined) return;
    const asked = this.#asked.get(id);
    this.#asked.delete(id);
    if (error === undefined) asked?.resolve(result);
    else asked?.reject(new Error(error.message));
  }
}
