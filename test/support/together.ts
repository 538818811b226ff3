import type { Binding } from "../../src/router/bindings.ts";
import { agentId } from "../../src/core/ids.ts";
import { createTestDatabase } from "./database.ts";
import { text, toolCalls } from "./model-behaviours.ts";
import { type Behaviour, type ChatRequest, type ModelServer, startModelServer } from "./model-server.ts";
import { OWNED } from "./owners.ts";
import { TestPlatform } from "./test-platform.ts";
import { startWeir, type TestWeir, type TestWeirOptions } from "./weir.ts";
import { piecesIn } from "./request-pieces.ts";

/** Three agents, each with a model of its own name: `main` (Weir), `researcher` (Researcher, @res), `coder` (Coder). */
export const THREE = `
[[agents]]
id = "main"
name = "Weir"
model = "main-model"
context_window = 16384
[[agents]]
id = "researcher"
name = "Researcher"
aliases = ["res"]
mention_roles = ["77001", "Scientists"]
model = "researcher-model"
context_window = 16384
[[agents]]
id = "coder"
name = "Coder"
model = "coder-model"
context_window = 16384
`;

export type Who = "main" | "researcher" | "coder";

/** The answers of an agent's model; a list is used in order, and its last element repeats. */
export type Answers = Partial<Record<Who, (request: ChatRequest) => Behaviour>>;

export interface Together extends AsyncDisposable {
  readonly connection: TestWeirOptions["connection"];
  readonly server: ModelServer;
  start(options?: StartOptions): Promise<TestWeir>;
  /** Sets each agent's answers; by default an agent says its own name. */
  script(answers: Answers): void;
  /** The messages of the requests to an agent's model, oldest first. */
  requests(who: Who): ChatRequest[];
}

export interface StartOptions extends Partial<Pick<TestWeirOptions, "config" | "platform" | "agentsDir">> {
  readonly also?: readonly string[];
  readonly binding?: Partial<Binding>;
}

/** A database, a model server, and any number of daemons, in sequence or in parallel. */
export async function openTogether(): Promise<Together> {
  const stack = new AsyncDisposableStack();
  const database = stack.use(await createTestDatabase());
  const server = stack.use(await startModelServer());
  const script = (answers: Answers): void => {
    server.respond((request) => {
      const who = whoOf(request);
      return answers[who]?.(request) ?? text(`I am ${who}.`);
    });
  };
  script({});
  return {
    connection: database.connection,
    server,
    script,
    requests: (who) => server.requests.map(({ body }) => body).filter((body) => whoOf(body) === who),
    start: async ({ also = ["researcher", "coder"], binding, config = THREE, ...rest } = {}) =>
      startWeir({
        connection: database.connection,
        modelUrl: server.url,
        // Shortens the wait for work that a test interrupts.
        config: `[daemon]\ndrain_deadline_ms = 200\n${OWNED}\n${config}`,
        binding: { agent: agentId("main"), also: also.map(agentId), ...binding },
        platform: new TestPlatform({ serves: () => true }),
        ...rest,
      }),
    [Symbol.asyncDispose]: async () => stack.disposeAsync(),
  };
}

function whoOf({ model }: ChatRequest): Who {
  return model === "researcher-model" ? "researcher" : model === "coder-model" ? "coder" : "main";
}

/** Hands over once, and says this afterwards. */
export function handsOver(
  to: string,
  message: string,
  afterwards = "done",
): (request: ChatRequest) => Behaviour {
  let isFirst = true;
  return () => {
    const behaviour = isFirst
      ? toolCalls([{ name: "hand_off", arguments: { agent: to, message } }])
      : text(afterwards);
    isFirst = false;
    return behaviour;
  };
}

/** Says something in a room of the test's platform, and waits for this many further texts. */
export async function told(
  weir: TestWeir,
  words: string,
  { room = "room", more = 1, ...rest }: Parameters<TestWeir["say"]>[1] & { more?: number } = {},
): Promise<string[]> {
  const before = weir.platform.texts(room).length;
  await weir.say(words, { room, ...rest });
  await weir.platform.until(() => weir.platform.texts(room).length >= before + more);
  return weir.platform.texts(room).slice(before);
}

/** The whole content of a request as one text. */
export function shownIn(request: ChatRequest | undefined): string {
  return piecesIn(request)
    .map(({ role, content }) => `${role}: ${content ?? ""}`)
    .join("\n");
}
