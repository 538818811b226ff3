import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { formatSegment, formatSegments, unknownKey } from "../../../src/admin/commands/context.ts";
import { nextRequest, reportContext } from "../../../src/admin/reports/context-report.ts";
import { typedWith } from "../../../src/admin/commands/permissions.ts";
import { maskOf, secretsOf } from "../../../src/admin/secrets.ts";
import { agentId, channelId } from "../../../src/core/ids.ts";
import { defaultAgent } from "../../context/agent.ts";
import { Conversation } from "../../context/conversation.ts";
import { PLATFORMS_OFF } from "../../support/platforms-off.ts";

const plain = defaultAgent();
const agent = { ...plain, config: { ...plain.config, contextWindow: 12_000 } };
const compactions = {
  committed: { background: 2, aggressive: 1, emergency: 0, forced: 0 },
  saved: { background: 8000, aggressive: 200, emergency: 0, forced: 0 },
  landed: 0,
  waiting: 0,
  failed: 0,
  stale: 0,
  sourceTokens: 9000,
  summaryTokens: 800,
};
const spent = {
  calls: 0,
  promptTokens: 0,
  cachedTokens: 0,
  writtenTokens: 0,
  completionTokens: 0,
  peakTokens: 0,
  models: [],
};

const SECRET = "sk-0123456789-abcdefghij";

function look({ history }: Conversation) {
  const { lastSeq, settledTo, coveredTo, omittedTo } = history;
  const address = { platform: "terminal", name: "main" };
  const row = {
    id: channelId(1),
    address,
    kind: "dm" as const,
    agent: agentId("main"),
    model: null,
    workspace: "",
    place: null,
    isPrivate: null,
    sharesMemory: false,
  };
  const channel = { ...row, epoch: 1, lastSeq, settledTo, coveredTo, omittedTo };
  const situation = {
    model: "some-model",
    spent,
    compactions,
    channelFiles: [],
    activeTexts: [],
    waitedFor: [],
    now: new Date("2026-11-21T20:00:00Z"),
  };
  const snapshot = { channel, history, lastUsage: null };
  const report = reportContext(agent, snapshot, situation);
  const detail = (key: string): string => {
    const part = report.segments.find((segment) => segment.key === key);
    assert.ok(part !== undefined, key);
    const { context } = nextRequest(agent, snapshot, situation);
    return formatSegment(part, report, context, maskOf([SECRET]));
  };
  return { report, detail };
}

function talk(...lines: readonly string[]): Conversation {
  const conversation = new Conversation();
  for (const line of lines) conversation.say(line, { addressed: line.startsWith("@") });
  return conversation;
}

const small = look(talk("it rains \u001b[2J on the mill", "@bot well?"));

describe("/context list", () => {
  test("has a line for each part, with its tokens and its share of what is usable", () => {
    const { report } = small;
    const text = formatSegments(report, typedWith("/"));
    assert.match(text, /^terminal:main · agent main · model some-model\n/);
    for (const { key, tokens } of report.segments) {
      const share = ((tokens / report.usable) * 100).toFixed(1);
      assert.match(
        text,
        new RegExp(`^ {2}${key} .* ${tokens.toLocaleString("en-US")} tokens +${share} %$`, "m"),
      );
    }
  });
});

describe("/context detail", () => {
  test("shows no piece of a secret that stands where the text is cut", () => {
    for (let before = 2050; before < 2110; before += 7) {
      const shown = look(talk(`@bot ${"x".repeat(before)}${SECRET}${"y".repeat(4000)}`)).detail("due");
      assert.doesNotMatch(shown, /sk-|0123/);
    }
  });

  test("shows a part as the model gets it, and obeys nothing in it", () => {
    const text = small.detail("history");
    assert.match(text, /^history: raw history, 1 item, \d+ tokens, \d+\.\d % of what is usable\n\n<user>\n/);
    assert.match(text, /it rains \\u\{1B\}\[2J on the mill$/);
    assert.match(small.detail("due"), /@bot well\?$/);
    assert.match(small.detail("system"), /<system>\n\S/);
    assert.match(small.detail("dynamic"), /<user>\n\S/);
  });

  test("says of an empty part that there is nothing in it", () => {
    assert.match(small.detail("summaries"), /^summaries: .*\n\nThere is nothing in it\.$/);
  });

  test("cuts a long part in the middle, and says how much", () => {
    const middle = Array<string>(100).fill("some words about the weather by the old mill");
    const text = look(talk("first words", ...middle, "last words")).detail("history");
    assert.ok(text.length < 3500, String(text.length));
    assert.match(text, /first words/);
    assert.match(text, /last words\n\n[\d,]+ of its [\d,]+ characters are cut from the middle\.$/);
  });
});

test("of a key that there is not: the one that was meant, and all there are", () => {
  const { report } = small;
  const all = "The keys are tools, system, summaries, history, due, dynamic, turn, identity, now.";
  assert.equal(unknownKey("histroy", report), `There is no part "histroy". Did you mean history? ${all}`);
  assert.equal(unknownKey("xyzzyplugh", report), `There is no part "xyzzyplugh". ${all}`);
  assert.equal(unknownKey("", report), `Of which part? ${all}`);
});

test("keys, tokens and passwords of a configuration are in no text, short words stay", () => {
  const address = "postgres://weir:p%40ssword@127.0.0.1/weir";
  const secrets = secretsOf({
    database: { url: `${address}?password=in-query`, dataDir: "/data" },
    llm: {
      baseUrl: null,
      apiKey: "api-key-1",
      firstTokenTimeoutMs: 1,
      idleTimeoutMs: 1,
      maxRetries: 0,
      api: "auto",
      servers: [],
      models: [],
      embeddings: null,
      transcription: null,
    },
    platforms: {
      ...PLATFORMS_OFF,
      discord: { ...CHAT, shards: 1, token: "discord-1", secrets: ["discord-1"] },
      slack: {
        ...CHAT,
        botToken: "api-key-1-slack",
        intake: { mode: "socket", appToken: "x" },
        agentView: "auto",
        feedbackButtons: true,
        secrets: ["api-key-1-slack", "x"],
      },
    },
    http: { host: "127.0.0.1", port: 8420, token: "http-token-1", hosts: [], mayMove: false },
  });
  const text = `http-token-1 p@ssword in-query api-key-1 discord-1 api-key-1-slack ${address}?password=in-query x`;
  assert.equal(maskOf(secrets)(text), "••• ••• ••• ••• ••• ••• ••• x");
});

const CHAT = {
  apiUrl: null,
  dm: "everyone",
  allow: [],
  owners: [],
  ownerRoles: [],
  catchUpMaxAgeMs: 1,
} as const;
