import { createLoopback } from "../../../../src/platforms/local/loopback/adapter.ts";
import type { Fault } from "../../../../src/platforms/local/loopback/protocol.ts";
import { startLoopbackServer } from "../../../../src/platforms/local/loopback/server.ts";
import type { PlatformHarness, SendFailure } from "../../contract.ts";
import { RecordingInbox } from "../../recording-inbox.ts";

/** Speaks to the loopback service as people and scripts do. */
export class Person {
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  /** @throws Error if the service refuses */
  async ask(method: string, path: string, body?: object): Promise<Record<string, unknown>> {
    const response = await fetch(`${this.#url}${path}`, {
      method,
      headers: body === undefined ? {} : { "content-type": "application/json" },
      body: body === undefined ? null : JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
    const value: unknown = await response.json();
    return Object.fromEntries(Object.entries(typeof value === "object" && value !== null ? value : {}));
  }

  async fault(fault: Partial<Fault>): Promise<void> {
    await this.ask("POST", "/faults", fault);
  }

  /** A list that an answer holds. */
  async list(path: string, key: string, body?: object): Promise<Record<string, unknown>[]> {
    const value = (await this.ask(body === undefined ? "GET" : "POST", path, body))[key];
    if (!Array.isArray(value)) throw new Error(`${path} has no list ${key}`);
    return value.map((item: unknown) => Object.fromEntries(Object.entries(item ?? {})));
  }
}

export const BACK_OFF = { fromMs: 1, toMs: 4 };
export const QUIET_LOG = { info: () => {}, warn: () => {}, error: () => {} };

const FAULT: Record<SendFailure, Partial<Fault>> = {
  unavailable: { operation: "send", fault: "status", status: 503 },
  gone: { operation: "send", fault: "gone" },
  rejected: { operation: "send", fault: "status", status: 422 },
  reset_after: { operation: "send", fault: "reset_after" },
};

export async function openLoopbackHarness(): Promise<PlatformHarness> {
  const server = await startLoopbackServer();
  const person = new Person(server.url);
  const platform = createLoopback({ url: server.url, log: QUIET_LOG, backOff: BACK_OFF });
  const inbox = new RecordingInbox();
  await platform.start(inbox, inbox);
  return {
    platform,
    inbox,
    channel: "main",
    isScriptable: true,
    failures: ["unavailable", "gone", "rejected", "reset_after"],
    say: async ({ author = "ana", channel = "main", ...said }) => {
      await person.ask("POST", `/channels/${channel}/messages`, { author, ...said });
    },
    edit: async (id, text) => {
      await person.ask("PATCH", `/channels/main/messages/${id}`, { text });
    },
    delete: async (id) => {
      await person.ask("DELETE", `/channels/main/messages/${id}`);
    },
    interrupt: async (meanwhile) => {
      for (const fault of ["reset_before", "status", "reset_after"] as const)
        await person.fault({ operation: "events", fault, times: 2 });
      await meanwhile();
    },
    command: async (name, argument) => {
      const { id } = await person.ask("POST", "/channels/main/commands", { name, argument, asker: "ana" });
      return {
        answer: async () => {
          const { answer } = await person.ask("GET", `/commands/${String(id)}`);
          return typeof answer === "string" ? answer : null;
        },
      };
    },
    shown: async () => {
      const messages = await person.list("/channels/main", "messages");
      return messages.flatMap(({ from, text }) => (from === "bot" && typeof text === "string" ? [text] : []));
    },
    fail: (how) => person.fault(FAULT[how]),
    [Symbol.asyncDispose]: async () => {
      await platform[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}
