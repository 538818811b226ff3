/** Conversations with subagents: who is asked what, and what their rows say. */
import assert from "node:assert/strict";
import type { Connection } from "../../src/store/database/queryable.ts";
import { type OpenStore, openStore } from "../store/open-store.ts";
import { createTestDatabase } from "./database.ts";
import { toolCalls } from "./model-behaviours.ts";
import { type Behaviour, type ChatRequest, type ModelServer, startModelServer } from "./model-server.ts";
import { OWNED } from "./owners.ts";
import { until } from "./patience.ts";
import { TestPlatform } from "./test-platform.ts";
import { startWeir, type TestWeir, type TestWeirOptions } from "./weir.ts";

export interface SubagentWorld extends AsyncDisposable {
  readonly connection: Connection;
  readonly beside: OpenStore;
  readonly server: ModelServer;
}

/** With a database of its own: a daemon that starts takes up whatever is left in it. */
export async function openSubagentWorld(): Promise<SubagentWorld> {
  await using stack = new AsyncDisposableStack();
  const { connection } = stack.use(await createTestDatabase());
  const beside = stack.use(openStore(connection));
  const server = stack.use(await startModelServer());
  const kept = stack.move();
  return { connection, beside, server, [Symbol.asyncDispose]: async () => kept.disposeAsync() };
}

/** Answers subagents by one, and their agent by the other. */
export function scriptBoth(
  server: ModelServer,
  subagent: (request: ChatRequest, task: string) => Behaviour,
  agent: (request: ChatRequest) => Behaviour,
): void {
  server.respond((request) => (isSubagents(request) ? subagent(request, taskOf(request)) : agent(request)));
}

export function isSubagents({ messages }: ChatRequest): boolean {
  return (messages[0]?.content ?? "").startsWith("You are a subagent of");
}

/** What a subagent is asked. */
export function taskOf({ messages }: ChatRequest): string {
  return messages[1]?.content ?? "";
}

/** What the server was asked by subagents. */
export function askedBySubagents(server: ModelServer): ChatRequest[] {
  return server.requests.map(({ body }) => body).filter(isSubagents);
}

export type Task = string | Readonly<Record<string, unknown>>;

/** Begins a subagent for each task, in one answer. */
export function spawn(...tasks: readonly Task[]): Behaviour {
  return toolCalls(
    tasks.map((task) => ({
      name: "spawn_agent",
      arguments: typeof task === "string" ? { task } : task,
    })),
  );
}

/** What the calls of the running turn have brought. */
export function results(request: ChatRequest | undefined): string[] {
  const messages = request?.messages ?? [];
  const from = messages.findLastIndex(({ role }) => role === "user") + 1;
  return messages.slice(from).flatMap(({ role, content }) => (role === "tool" ? [content ?? ""] : []));
}

export function lastWords(request: ChatRequest | undefined): string {
  return request?.messages.map(({ content }) => content ?? "").join("\n") ?? "";
}

/** @param options of `[agents.subagents]`; @param agent more of the agent itself */
export async function startWithSubagents(
  connection: Connection,
  server: ModelServer,
  options = "",
  agent = "",
  more: Pick<TestWeirOptions, "lookUpWithinMs"> = {},
): Promise<TestWeir> {
  const own = `[[agents]]\nid = "main"\nname = "Weir"\nmodel = "test-model"\n${agent}\n`;
  return startWeir({
    connection,
    modelUrl: server.url,
    config: `${OWNED}\n${own}[agents.subagents]\nenabled = true\n${options}`,
    platform: new TestPlatform({ serves: () => true }),
    ...more,
  });
}

export interface SubagentRow {
  readonly [column: string]: unknown;
  readonly state: string;
  readonly told: string | null;
  readonly closedAt: Date | null;
}

/** The rows of a room's subagents, by number. */
export async function rowsOf({ sql }: Pick<OpenStore, "sql">, room: string): Promise<SubagentRow[]> {
  return sql<SubagentRow>(
    "select s.* from subagents s join channels c on c.id = s.channel_id where c.name = $1 order by s.number",
    room,
  );
}

/** Waits until the agent of a room knows how all of its subagents ended. */
export async function untilClosed(store: Pick<OpenStore, "sql">, room: string): Promise<SubagentRow[]> {
  await until(`end of the subagents of ${room}`, async () =>
    (await rowsOf(store, room)).every((row) => row.closedAt !== null),
  );
  return rowsOf(store, room);
}

/** Fails where something of what was said is left in a row. */
export function assertBlank(rows: readonly SubagentRow[]): void {
  for (const row of rows)
    assert.deepEqual(
      [row["task"], row["result"], row["steps"], row["brief"], row["key"]],
      ["", "", [], null, null],
    );
}
