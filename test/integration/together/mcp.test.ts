// proves: src/channel/turns/guest-turns.ts, src/channel/frozen-tools.ts
// Tools of the servers of an agent that is a guest in a channel: its own, frozen there, and there again when a process begins.
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { command } from "../../support/commands.ts";
import { text, toolCalls } from "../../support/model-behaviours.ts";
import { OWNER } from "../../support/owners.ts";
import { openTogether, THREE, type Together, told } from "../../support/together.ts";
import type { TestWeir } from "../../support/weir.ts";

const SUPPORT = path.join(import.meta.dirname, "../../support/mcp");

interface Home {
  readonly config: string;
  readonly journal: () => Promise<string[]>;
}

/** The researcher has one of the servers of test/support/mcp, and nobody else has any. */
async function home(t: TestContext, approve: string, script: string, ...mode: string[]): Promise<Home> {
  const folder = await mkdtemp(path.join(tmpdir(), "weir-mcp-"));
  t.after(async () => rm(folder, { recursive: true, force: true }));
  const journal = path.join(folder, "journal");
  const server = `[[agents.mcp]]
name = "kit"
command = ${JSON.stringify(process.execPath)}
args = ${JSON.stringify([path.join(SUPPORT, script), ...mode, journal])}
approve = "${approve}"
`;
  return {
    config: THREE.replace('[[agents]]\nid = "coder"', `${server}$&`),
    journal: async () =>
      (await readFile(journal, "utf8").catch(() => ""))
        .split("\n")
        .filter((line) => !/^(?:pid .*)?$/.test(line)),
  };
}

function toolsOf(scene: Together, who: "main" | "researcher"): string[] {
  return (scene.requests(who).at(-1)?.tools ?? []).map((tool) => tool.function.name);
}

/** Asks the guest in a room until it has its server's tools. */
async function untilTools(scene: Together, weir: TestWeir, room: string): Promise<void> {
  for (;;) {
    await told(weir, "@res hello", { room });
    if (toolsOf(scene, "researcher").some((name) => name.startsWith("kit__"))) return;
    await delay(20);
  }
}

test("a guest's list is its own, and stays as it was until the next commit", async (t) => {
  const { config } = await home(t, "never", "bad-server.ts", "changes");
  await using scene = await openTogether();
  await using weir = await scene.start({ config });
  await untilTools(scene, weir, "room");
  const bytes = (): string => JSON.stringify(scene.requests("researcher").at(-1)?.tools);
  const first = bytes();
  assert.match(first, /hand_off.*kit__both.*kit__old/);
  await told(weir, "and you?");
  assert.ok(toolsOf(scene, "main").every((name) => !name.startsWith("kit__")));
  let isFirst = true;
  scene.script({
    researcher: () => {
      const behaviour = isFirst ? toolCalls([{ name: "kit__both", arguments: {} }]) : text("called");
      isFirst = false;
      return behaviour;
    },
  });
  await told(weir, "@res change it");
  scene.script({});
  // Other rooms, which are loaded only now, have the new list: so it has come.
  for (let room = 0; !toolsOf(scene, "researcher").includes("kit__new"); room++)
    await told(weir, "@res hello", { room: `fresh-${room}` });
  await told(weir, "@res and now?");
  assert.equal(bytes(), first, "the prefix stays");
  await command(weir, "room", "/reset", OWNER);
  await told(weir, "@res and now?");
  assert.match(bytes(), /hand_off.*kit__both.*kit__new/);
});

test("what a guest may do with its server once somebody allows it is done after a restart, too", async (t) => {
  const { config, journal } = await home(t, "writes", "good-server.ts");
  await using scene = await openTogether();
  let question = "";
  {
    await using weir = await scene.start({ config });
    await untilTools(scene, weir, "room");
    let isFirst = true;
    scene.script({
      researcher: ({ messages }) => {
        question = /as #(\d+)/.exec(messages.at(-1)?.content ?? "")?.[1] ?? question;
        const behaviour = isFirst ? toolCalls([{ name: "kit__environment", arguments: {} }]) : text("asked");
        isFirst = false;
        return behaviour;
      },
    });
    await weir.say("@res look around", { room: "room" });
    await weir.platform.until(() => weir.platform.texts("room").includes("**Researcher:** asked"));
  }
  assert.deepEqual(await journal(), []);
  scene.script({});
  // Its server is only being started by then.
  await using weir = await scene.start({ config });
  assert.equal(await command(weir, "room", `/approve ${question}`, OWNER), `Allowed: #${question}.`);
  await weir.platform.until(() => weir.platform.texts("room").includes("**Researcher:** I am researcher."));
  assert.deepEqual(await journal(), ['{"tool":"environment"}']);
});
