import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createTestDatabase, type TestDatabase } from "./database.ts";
import { openStore, type OpenStore } from "../store/open-store.ts";
import { text, toolCalls } from "./model-behaviours.ts";
import { type ChatRequest, type ModelServer, startModelServer } from "./model-server.ts";
import { TestPlatform } from "./test-platform.ts";
import { until } from "./patience.ts";
import { textsBelow } from "./texts-below.ts";
import { startWeir, type TestWeir, type TestWeirOptions } from "./weir.ts";
import { piecesIn } from "./request-pieces.ts";

/** A database, a model that notes what it is told to note, and an agent whose notes need an approval. */
export interface ApprovalScene extends AsyncDisposable {
  readonly server: ModelServer;
  readonly open: OpenStore;
  readonly database: TestDatabase;
  readonly agentsDir: string;
  readonly platform: TestPlatform;
  /** @param options of the configuration: lines of `[defaults.approvals]` */
  start(
    options?: Partial<TestWeirOptions> & { readonly approvals?: string; readonly agent?: string },
  ): Promise<TestWeir>;
  /** What stands in the agent's notes. */
  notes(): Promise<string>;
  /** The rows of approvals, by number. */
  rows(): Promise<
    { id: number; state: string; arguments: string; messageId: string | null; shown: string | null }[]
  >;
}

/** Says `note THIS` and the model calls the tool with it. Behind a result it says what it was told. */
export function noting(request: ChatRequest): ReturnType<typeof text> {
  const { tools } = request;
  const messages = piecesIn(request);
  const last = messages.at(-1);
  if (last?.role === "tool") return text(`told: ${last.content}`);
  const said = saidLast(messages);
  const wanted = [...said.matchAll(/note (.+)$/gm)].at(-1)?.[1];
  if (wanted === undefined || tools === undefined || said.includes("approval #")) return text("fine");
  return toolCalls(wanted.split(" and ").map((one) => ({ name: "note", arguments: { text: one } })));
}

/** Says `look up THIS` and the model searches for it. Behind a result it says what it was told. */
export function lookingUp(request: ChatRequest): ReturnType<typeof text> {
  const { tools } = request;
  const messages = piecesIn(request);
  const last = messages.at(-1);
  if (last?.role === "tool") return text(`told: ${last.content}`);
  const query = /look up (.+)$/m.exec(saidLast(messages))?.[1];
  if (query === undefined || tools === undefined) return text("fine");
  return toolCalls([{ name: "search_history", arguments: { query } }]);
}

/** What somebody said last, without what is true just now. */
function saidLast(messages: ChatRequest["messages"]): string {
  return (
    messages.findLast(({ role, content }) => role === "user" && !content?.startsWith("[System"))?.content ??
    ""
  );
}

export async function openApprovals(): Promise<ApprovalScene> {
  await using stack = new AsyncDisposableStack();
  const database = stack.use(await createTestDatabase());
  const open = stack.use(openStore(database.connection));
  const server = stack.use(await startModelServer());
  server.respond(noting);
  const folder = await mkdtemp(path.join(tmpdir(), "weir-approvals-"));
  stack.defer(async () => rm(folder, { recursive: true, force: true }));
  const agentsDir = path.join(folder, "agents");
  await mkdir(path.join(agentsDir, "main"), { recursive: true });
  const platform = new TestPlatform({ serves: () => true });
  const kept = stack.move();
  return {
    server,
    open,
    database,
    agentsDir,
    platform,
    start: async ({
      approvals = 'tools = { note = "always" }',
      config = "",
      agent = "main",
      ...options
    } = {}) =>
      startWeir({
        connection: database.connection,
        modelUrl: server.url,
        config: `${config}\n[defaults.approvals]\n${approvals}\n[[agents]]\nid = "${agent}"\nmodel = "test-model"\n`,
        agentsDir,
        platform,
        ...options,
      }),
    notes: async () => (await textsBelow(agentsDir)).join("\n"),
    rows: async () => open.sql("select id, state, arguments, message_id, shown from approvals order by id"),
    [Symbol.asyncDispose]: async () => kept.disposeAsync(),
  };
}

/** Everything of a room that the platform shows and that fits. */
export function shownIn(platform: TestPlatform, room: string, what: RegExp): string[] {
  return platform.texts(room).filter((one) => what.test(one));
}

/** Lets the questions that are shown expire under the next daemon, half a second from now: this one's timer is set for later. */
export async function expireSoon({ open }: ApprovalScene): Promise<void> {
  const unshown = "select from approvals where shown is distinct from state";
  await until("questions that are shown", async () => (await open.sql(unshown)).length === 0);
  await open.sql("update approvals set expires_at = clock_timestamp() + interval '500 ms'");
}
