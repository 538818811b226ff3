// proves: src/features/feature.ts, src/features/features.ts, src/features/declarations.ts
import assert from "node:assert/strict";
import { existsSync, globSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { COMMANDS } from "../../src/features/features.ts";

const SRC = join(import.meta.dirname, "../../src");
/** They join the slices. */
const LISTS: ReadonlySet<string> = new Set([
  "features/features.ts",
  "features/declarations.ts",
  "features/stored.ts",
]);

/** By slice: its name as code writes it, and the files beside its folder and the lists in which it may stand, with the reason. */
const SLICES: Readonly<
  Record<string, { readonly word: RegExp; readonly elsewhere: Readonly<Record<string, string>> }>
> = {
  notes: {
    word: /note-?(?:keeper|lines|store|sweeper|kit)|turn-?notes|retold-?notes|memory_write|keeps_?notes|\bnotes: option|config\.notes/i,
    elsewhere: {
      "agent-texts.ts": "a flag of the folder's template",
      "config/schema/agents.ts": "its option, which stands between others in config.toml",
      "prompts/catalogue.ts": "a flag of the folder's template",
    },
  },
  files: { word: /ATTACHING|attachingKit/, elsewhere: {} },
  pairing: {
    word: /pairing|\bpaired\b/i,
    elsewhere: {
      "cli/pair.ts": "weir pair",
      "cli/forget-user.ts": "who is forgotten is let in no longer",
      "cli/chat/chat-platforms.ts": "a value of the option dm",
      "config/schema/chat-options.ts": "a value of the option dm",
    },
  },
  questions: {
    word: /approval|approver/i,
    elsewhere: {
      "core/message.ts": "the ids of Weir's own messages",
      "store/deletion/carriers/due-work.ts": "joins its rows to Weir's own messages",
    },
  },
  reminders: {
    word: /remind/i,
    elsewhere: {
      "store/deletion/carriers/due-work.ts": "joins its rows to Weir's own messages",
      "core/message.ts": "the ids of Weir's own messages",
      "cli/pair.ts": "says that reminders end",
    },
  },
  skills: {
    word: /[sS]kills?(?![a-z])/,
    elsewhere: {
      "admin/reports/context-costs.ts": "a kind of section of the context",
      "agent-files/agent-folder.ts": "reads the agent's folder",
      "agent-files/front-matter.ts": "reads the agent's folder",
      "agent-files/skill-files.ts": "reads the agent's folder",
      "cli/shared/configuration-source.ts": "watches the agents' folders",
      "context/sections/choose.ts": "a kind of section of the context",
      "context/sections/section.ts": "a kind of section of the context",
      "core/context.ts": "a kind of section of the context",
      "prompts/catalogue.ts": "a kind of section of the context",
      "turn/agent.ts": "reads the agent's folder",
    },
  },
  subagents: {
    word: /subagent|spawn.?agent/i,
    elsewhere: {
      "store/deletion/carriers/due-work.ts": "joins its rows to Weir's own messages",
      "core/message.ts": "the ids of Weir's own messages",
      "core/context.ts": "a kind of section",
      "context/sections/section.ts": "a kind of section",
      "config/schema/agents.ts": "texts of other options; until approvals are a slice, the place of its own",
    },
  },
  wishes: {
    word: /wish/i,
    elsewhere: {
      "admin/reports/signing-keys.ts": "says what another signing.key costs",
      "context/sections/section.ts": "the label of a kind of section",
      "core/memory.ts": "a reason why a draft is refused, as rows have it",
      "memory/told-as.ts": "a word of people: what somebody wishes is no fact",
    },
  },
};

const FOLDERS = readdirSync(join(SRC, "features"), { withFileTypes: true }).flatMap((entry) =>
  entry.isDirectory() ? entry.name : [],
);

test("each slice has a line here and in the lists", () => {
  assert.deepEqual(FOLDERS.toSorted(), Object.keys(SLICES).toSorted());
  for (const [list, file] of [
    ["features.ts", "feature.ts"],
    ["declarations.ts", "declaration.ts"],
    ["stored.ts", "carrier.ts"],
  ] as const) {
    const text = readFileSync(join(SRC, "features", list), "utf8");
    const declared = FOLDERS.filter((name) => existsSync(join(SRC, "features", name, file)));
    assert.deepEqual(
      declared.filter((name) => !text.includes(`./${name}/`)),
      [],
    );
  }
});

for (const [name, { word, elsewhere }] of Object.entries(SLICES))
  test(`the name of ${name} stands in its slice, the lists, and where it must`, () => {
    const files = globSync("**/*.ts", { cwd: SRC })
      .map((file) => file.replaceAll("\\", "/"))
      .filter((file) => !file.startsWith(`features/${name}/`) && !LISTS.has(file))
      .filter((file) => word.test(readFileSync(join(SRC, file), "utf8")));
    assert.deepEqual(files.toSorted(), Object.keys(elsewhere).toSorted());
  });

test("no slice imports another one", () => {
  const imports = globSync("features/*/*.ts", { cwd: SRC }).flatMap((file) => {
    const own = file.split("/")[1];
    const text = readFileSync(join(SRC, file), "utf8");
    return [...text.matchAll(/from "\.\.\/([a-z-]+)\//g)].flatMap(([, other]) =>
      other === own ? [] : `${file}: ${other}`,
    );
  });
  assert.deepEqual(imports, []);
});

test("each command of a slice stands behind one that there is", () => {
  const names = COMMANDS.map(({ name }) => name);
  assert.equal(new Set(names).size, names.length);
  assert.ok(names.indexOf("remind") === names.indexOf("why") + 1 && names.at(-1) === "pair");
});
