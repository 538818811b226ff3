/** Channels of all kinds with words that only one text each has, to find which of them the page shows to whom. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { InboundMessage } from "../../src/core/message.ts";
import { openStore, type OpenStore } from "../store/open-store.ts";
import { command } from "./commands.ts";
import { coverRoom } from "./covered.ts";
import { createTestDatabase } from "./database.ts";
import { text, toolCalls } from "./model-behaviours.ts";
import { type ChatRequest, type ModelServer, startModelServer } from "./model-server.ts";
import { startPage, type TestPage } from "./page.ts";
import { until } from "./patience.ts";
import { piecesIn } from "./request-pieces.ts";
import { readConfig, startWeir, type TestWeir, type TestWeirOptions } from "./weir.ts";

const CONFIG = `
[defaults.memory]
share = "workspace"
[[agents]]
id = "main"
model = "test-model"
time_zone = "UTC"
`;

/** What a room is, and which of its words a viewer may read. */
interface Room {
  readonly is: Partial<InboundMessage>;
  readonly shown: readonly string[];
  /** What an edit takes with it. */
  readonly gone?: readonly string[];
}

const THREAD = (parent: string): Partial<InboundMessage> => ({
  kind: "thread",
  place: { workspace: "w", channel: "a thread", parent: { id: wordOf(parent, "room"), name: parent } },
});

/** Everything that is planted in each room. */
const PLANTED = ["room", "name", "said", "ask", "answer", "memory", "edit", "summary", "tail"] as const;
/** Where something happens between: what is said by a person then, is remembered and answered. */
const PLANTED_LATER = ["between", "later", "latermemory", "lateranswer"] as const;
/** What a tool was asked for, a server said, a platform refused, and an agent wants to do: the operator's alone. */
const OPERATORS = ["args", "reason", "refusal", "pending"] as const;

export const ROOMS: Readonly<Record<string, Room>> = {
  pub: { is: { isPrivate: false }, shown: PLANTED },
  priv: { is: { isPrivate: true }, shown: [] },
  unsaid: { is: {}, shown: [] },
  dm: { is: { kind: "dm" }, shown: [] },
  ofpriv: { is: THREAD("priv"), shown: [] },
  ofpub: { is: THREAD("pub"), shown: [] },
  once: { is: { isPrivate: true }, shown: ["room", "name", "later", "latermemory", "tail"] },
  gap: {
    is: { isPrivate: false },
    shown: ["room", "name", "said", "ask", "answer", "memory", "edit", "later", "latermemory", "tail"],
  },
  edited: {
    is: { isPrivate: false },
    shown: ["room", "name", "ask", "memory", "edit", "later", "latermemory", "tail", "said"],
    gone: ["args"],
  },
};

export function wordOf(room: string, what: string): string {
  return `zq${room}${what}`;
}

/** Each word of the world, and whether a viewer may read it. */
export function planted(): ReadonlyMap<string, boolean> {
  const words = Object.entries(ROOMS).flatMap(([room, { shown, gone = [] }]) => {
    const later = isTwofold(room) ? PLANTED_LATER : [];
    const all = [...PLANTED, ...later, ...OPERATORS].filter((what) => !gone.includes(what));
    return all.map((what) => [wordOf(room, what), shown.includes(what)] as const);
  });
  return new Map([...words, ["zqfolder", false], ["zqstranger", false]]);
}

function isTwofold(room: string): boolean {
  return ["once", "gap", "edited"].includes(room);
}

export interface ViewerWorld extends AsyncDisposable {
  readonly options: TestWeirOptions;
  readonly weir: TestWeir;
  readonly model: ModelServer;
  readonly page: TestPage;
  readonly open: OpenStore;
  /** Says something in a room, as the platform describes it. @returns when its turn has settled, if it asks for one */
  readonly say: (room: string, words: string, more?: Partial<InboundMessage>) => Promise<void>;
  /** Its platform says so now. @param name the channel's */
  readonly tellPrivacy: (name: string, isPrivate: boolean) => Promise<void>;
}

/** Looks up what it is told to, and answers with the word of its room. */
function answering(request: ChatRequest): ReturnType<typeof text> {
  const messages = piecesIn(request);
  const said = messages.map(({ content }) => content ?? "").join("\n");
  const [, room = "", which = ""] = [...said.matchAll(/look up zq([a-z]+?)(later)?ask/g)].at(-1) ?? [];
  if (messages.at(-1)?.role === "tool" || which !== "")
    return text(`it is ${wordOf(room, `${which}answer`)}`);
  if (room === "" || request.tools === undefined) return text("fine");
  return toolCalls([{ name: "search_history", arguments: { query: wordOf(room, "args") } }]);
}

export async function openViewerWorld(): Promise<ViewerWorld> {
  await using stack = new AsyncDisposableStack();
  const model = stack.use(await startModelServer());
  model.respond(answering);
  const database = stack.use(await createTestDatabase());
  const agentsDir = await mkdtemp(path.join(tmpdir(), "weir-viewer-"));
  stack.defer(async () => rm(agentsDir, { recursive: true, force: true }));
  await mkdir(path.join(agentsDir, "main"));
  await writeFile(path.join(agentsDir, "main", "MEMORY.md"), "The operator's word is zqfolder.");
  const options = { connection: database.connection, agentsDir, modelUrl: model.url, config: CONFIG };
  const weir = stack.use(await startWeir(options));
  const open = stack.use(openStore(database.connection));
  const page = stack.use(await startPage(weir.daemon, await readConfig(options), Date.now(), 50));
  const say: ViewerWorld["say"] = async (room, words, more = {}) => {
    const before = weir.events.length;
    const name = wordOf(room, "room");
    const author = { id: `u-${room}`, name: wordOf(room, "name"), isBot: false };
    await weir.say(words, {
      room: name,
      workspace: "w",
      author,
      addressed: false,
      ...ROOMS[room]?.is,
      ...more,
    });
    if (more.addressed === true)
      await weir.event(
        "turn_settled",
        (event) => event.channel === `test:${name}` && weir.events.indexOf(event) >= before,
      );
  };
  const tellPrivacy: ViewerWorld["tellPrivacy"] = async (name, isPrivate) =>
    weir.daemon.inbox.meetChannels("test", [{ channel: { platform: "test", name }, isPrivate }]);
  const kept = stack.move();
  const world = {
    options,
    weir,
    model,
    page,
    open,
    say,
    tellPrivacy,
    [Symbol.asyncDispose]: async (): Promise<void> => kept.disposeAsync(),
  };
  await Promise.all(Object.keys(ROOMS).map(async (room) => plant(world, room, database.connection)));
  await open.sql(
    `insert into pairing_requests (platform, person, name, channel, code, said_to, said_ids)
     values ('discord', '42', 'zqstranger', 'dm', 'ABCD2345', now(), '{}')`,
  );
  return world;
}

async function plant(
  { weir, open, say, tellPrivacy }: Pick<ViewerWorld, "weir" | "open" | "say" | "tellPrivacy">,
  room: string,
  connection: Parameters<typeof coverRoom>[0],
): Promise<void> {
  const word = (what: string): string => wordOf(room, what);
  const change = { platform: "test", at: new Date() } as const;
  const remember = async (what: string): Promise<unknown> =>
    command(weir, word("room"), `/remember the word of the ${what} is ${word(what)}`, {
      id: `u-${room}`,
      name: word("name"),
      roles: [],
    });
  const untilRecorded = async (): Promise<void> =>
    until(`the record of the newest turn of ${room} is kept`, async () => {
      const rows = await open.sql(
        `select from context_records r join channels c on c.id = r.channel_id
        where c.name = $1 and r.turn_id = (select max(t.id) from turns t where t.channel_id = c.id)`,
        word("room"),
      );
      return rows.length === 1;
    });
  await say(room, "hello", { id: `${room}-first` });
  await say(room, `I say ${word("said")}`);
  // Before the turn: what a turn was sent is not kept if a text is edited meanwhile.
  await say(room, "a draft", { id: `${room}-edit` });
  await weir.daemon.inbox.receive({ type: "edit", ...change, id: `${room}-edit`, text: word("edit") });
  await say(room, `look up ${word("ask")}`, { addressed: true });
  await remember("memory");
  const isTwo = isTwofold(room);
  const is: Partial<InboundMessage> = room === "once" ? { isPrivate: false } : {};
  if (isTwo) {
    if (room === "edited")
      await weir.daemon.inbox.receive({
        type: "edit",
        ...change,
        id: `${room}-first`,
        text: word("between"),
        isLate: true,
      });
    else await say(room, word("between"), { isLate: room === "gap" });
    if (room === "once") await tellPrivacy(word("room"), false);
    await say(room, word("later"), is);
    await remember("latermemory");
    await say(room, `look up ${word("laterask")}`, { ...is, addressed: true });
  }
  await untilRecorded();
  await coverRoom(connection, word("room"), `They spoke of ${word("summary")}.`);
  await say(room, word("tail"), is);
  await say(room, "and now?", { ...is, addressed: true });
  await untilRecorded();
  await open.sql(
    `set local session_replication_role = replica;
     update turns set reason = 'rejected: ${word("reason")}' where channel_id in (select id from channels where name = '${word("room")}');
     update deliveries set reason = '${word("refusal")}' where channel_id in (select id from channels where name = '${word("room")}');
     insert into approvals (channel_id, turn_id, call_id, agent, tool, arguments, fingerprint, expires_at)
     select t.channel_id, min(t.id), 'call-1', 'main', 'note', '{"text": "${word("pending")}"}', 'print', now() + interval '1 hour'
       from channels c join turns t on t.channel_id = c.id where c.name = '${word("room")}' group by t.channel_id`,
  );
}
