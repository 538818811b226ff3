import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { OutboundMessage } from "../../../src/core/message.ts";
import type { CompactionNews } from "../../../src/platforms/terminal/settled-turns.ts";
import type { TerminalOptions } from "../../../src/platforms/terminal/terminal-platform.ts";
import { CARD } from "../cards.ts";
import { outbound } from "../contract.ts";
import { FakeScreen } from "./fake-screen.ts";
import { openTerminal, type Terminal } from "./terminal-harness.ts";

interface Session extends Terminal {
  readonly screen: FakeScreen;
  /** Sends a piece of an answer, or the whole of it. */
  send(text: string, more?: Partial<OutboundMessage>): Promise<string>;
  edit(id: string, text: string, final?: boolean): Promise<void>;
  /** What the person sees below the header. */
  seen(): string;
}

async function open(options: Partial<TerminalOptions> = {}): Promise<Session> {
  const terminal = await openTerminal("interactive", options);
  const screen = new FakeScreen(40);
  screen.write(terminal.written());
  terminal.output.on("data", (chunk: string) => screen.write(chunk));
  const message = (text: string, more: Partial<OutboundMessage>): OutboundMessage =>
    outbound({ platform: terminal.platform, channel: "main" }, { text, ...more });
  return {
    ...terminal,
    screen,
    send: (text, more = {}) => terminal.platform.send(message(text, more)),
    edit: (id, text, final = false) => terminal.platform.edit(id, message(text, { final })),
    seen: () => screen.text.slice(screen.text.indexOf("\n\n") + 2),
  };
}

const PIECE = { final: false };

function compaction(phase: CompactionNews["phase"]): CompactionNews {
  const tokensAfter = phase === "committed" ? 310 : null;
  const range = { fromSeq: 1, toSeq: 120, tokensBefore: 8200, tokensAfter, memories: 4, ms: 3210 };
  return { channel: "terminal:main", phase, kind: "leaf", tier: "background", ...range };
}

describe("the interactive terminal", () => {
  test("greets with agent, channel and where help is", async () => {
    await using session = await open();
    assert.equal(
      session.screen.text,
      "This is weirdo, in the channel terminal:\nmain.\n/help shows what you can type, Ctrl-D lea\nves.\n\nana>".replace(
        "lea\nves",
        "le\naves",
      ),
    );
    assert.deepEqual(session.screen.cursor, { row: 5, column: 5 });
  });

  test("shows what was said, that the agent thinks, and its answer as it grows", async () => {
    await using session = await open();
    session.input.write("hello\r");
    await session.inbox.received(1);
    assert.equal(session.seen(), "ana> hello\n(weirdo is thinking) ana>");
    const id = await session.send("The ri", { ...PIECE, inReplyTo: ["id-1"] });
    assert.equal(session.seen(), "ana> hello\nweirdo> The ri\nana>");
    await session.edit(id, "The river rises, the weir holds, and what sinks is kept");
    assert.equal(
      session.seen(),
      "ana> hello\nweirdo> The river rises, the weir holds,\n and what sinks is kept\nana>",
    );
    await session.edit(id, "The river rises, the weir holds, and what sinks is kept.\nAlways.", true);
    assert.match(session.seen(), /kept\.\nAlways\.\nana>$/);
  });

  test("keeps a half-typed line whole while text appears above it", async () => {
    await using session = await open();
    const id = await session.send("One", PIECE);
    const typed = "a line that is longer than the forty cells of this terminal";
    session.input.write(typed);
    session.input.write("\u001B[D\u001B[D");
    const before = session.screen.cursor;
    await session.edit(id, "One, two");
    await session.edit(id, "One, two, three.", true);
    assert.equal(
      session.seen(),
      "weirdo> One, two, three.\nana> a line that is longer than the fort\ny cells of this terminal",
    );
    assert.deepEqual(session.screen.cursor, before);
    session.input.write("X\r");
    await session.inbox.received(1);
    assert.deepEqual(session.inbox.said, [`ana: ${typed.slice(0, -2)}X${typed.slice(-2)}`]);
  });

  test("goes on below what was said in the middle of an answer", async () => {
    await using session = await open();
    const id = await session.send("One, two", PIECE);
    session.input.write("and then?\r");
    await session.inbox.received(1);
    await session.edit(id, "One, two, three.", true);
    assert.equal(session.seen(), "weirdo> One, two\nana> and then?\n… , three.\n(weirdo is thinking) ana>");
  });

  test("starts over, and says so, when an answer does", async () => {
    await using session = await open();
    const id = await session.send("One, tw", PIECE);
    await session.edit(id, "Uno, dos.", true);
    assert.equal(session.seen(), "weirdo> One, tw\n(the answer starts again)\nweirdo> Uno, dos.\nana>");
  });
});

describe("the interactive terminal's screen", () => {
  test("fills rows exactly, and with wide letters, without losing its place", async () => {
    const text = `${"x".repeat(32)}y日本語${"日本語".repeat(8)}z\nend`;
    for (let size = 1; size < 9; size += 1) {
      await using session = await open();
      session.input.write("typed");
      const id = await session.send(text.slice(0, size), PIECE);
      for (let end = size; end < text.length; end += size) await session.edit(id, text.slice(0, end));
      await session.edit(id, text, true);
      assert.equal(session.seen().replaceAll("\n", ""), `weirdo> ${text.replaceAll("\n", "")}ana> typed`);
    }
  });

  test("obeys nothing that an answer or a name holds", async () => {
    await using session = await open({ agent: "we\u001B[2Jird", speaker: "a\u009Bna" });
    await session.send("\u001B[2J\u001B[5Agone\u0007\r!\u009B31m");
    assert.match(session.seen(), /^we␛\[2Jird> ␛\[2J␛\[5Agone␇␍!\uFFFD31m\na\uFFFDna>$/);
  });
});

describe("what is typed into the interactive terminal", () => {
  test("is a command where it begins with a slash", async () => {
    await using session = await open();
    session.input.write("/status now\r");
    await session.writes(/did status/);
    assert.deepEqual(session.inbox.commands, [
      {
        channel: { platform: "terminal", name: "main" },
        where: { channel: { platform: "terminal", name: "main" }, kind: "dm", workspace: "" },
        name: "status",
        argument: "now",
        asker: { id: "ana", name: "ana", roles: [] },
      },
    ]);
    assert.equal(session.seen(), "ana> /status now\ndid status\nana>");
  });

  test("is one message where it was pasted as several lines", async () => {
    await using session = await open();
    session.input.write("see: \u001B[200~if (a)\r\tb();\r\u001B[201~thanks\r");
    await session.inbox.received(1);
    assert.deepEqual(session.inbox.said, ["ana: see: if (a)\n\tb();\nthanks"]);
    assert.match(session.seen(), /^ana> see: if \(a\)\n {2}… +b\(\);\n {2}… thanks\n/);
  });

  test("is nothing where it is empty", async () => {
    await using session = await open();
    const id = await session.send("One", PIECE);
    session.input.write("\r\r");
    await session.edit(id, "One, two.", true);
    assert.equal(session.seen(), "weirdo> One, two.\nana>");
    assert.deepEqual(session.inbox.events, []);
  });

  test("changes the speaker with /as, and leaves with /quit", async () => {
    await using session = await open();
    session.input.write("/as ben\rhi\r");
    await session.inbox.received(1);
    assert.deepEqual(session.inbox.said, ["ben: hi"]);
    session.input.write("/quit\r");
    await session.platform.closed;
  });

  test("ends the session with Ctrl-D, and asks for the end of the process with Ctrl-C", async () => {
    const interrupted = Promise.withResolvers<void>();
    await using session = await open({ onInterrupt: interrupted.resolve });
    session.input.write("\u0003");
    await interrupted.promise;
    const id = await session.send("One", PIECE);
    session.input.write("\u0004");
    await session.platform.closed;
    await session.edit(id, "One, two.", true);
    assert.equal(session.seen(), "weirdo> One, two.");
    assert.ok(session.written().includes("\u001B[?2004l"));
  });

  test("is not taken any more after the intake was stopped", async () => {
    await using session = await open();
    await session.platform.stopIntake();
    session.input.write("too late\r");
    await session.send("Bye.");
    assert.equal(session.seen(), "weirdo> Bye.");
    assert.deepEqual(session.inbox.events, []);
  });
});

describe("what else the interactive terminal tells", () => {
  test("is why there is no answer, and what is out of view", async () => {
    await using session = await open();
    session.input.write("hm\r");
    await session.inbox.received(1);
    session.turns.settle("skipped", ["id-1"], "small talk");
    session.turns.emergency({ channel: "terminal:main", omitted: 1234 });
    await session.writes(/1,234 older/);
    await setImmediate();
    assert.match(session.seen(), /^ana> hm\n\(no answer: small talk\)\n\(1,234 older messages are out/);
    assert.match(session.seen(), /\nana>$/);
  });

  test("is what is being summarised, until it lands", async () => {
    await using session = await open();
    session.input.write("half a li");
    session.turns.compaction(compaction("started"));
    await session.writes(/summarising/);
    assert.equal(session.seen().replaceAll("\n", ""), "(summarising 120 older messages) ana> half a li");
    session.turns.compaction(compaction("committed"));
    await session.writes(/120 older messages summarised/);
    await setImmediate();
    assert.match(
      session.seen(),
      /^\(120 older messages summarised: 8,200 →\n310 tokens, 3\.2 s, 4 memories\)\nana> half a li$/,
    );
    session.turns.compaction(compaction("started"));
    session.turns.compaction(compaction("failed"));
    await setImmediate();
    assert.match(session.seen(), /memories\)\nana> half a li$/);
  });

  test("does not break into an answer that is being written", async () => {
    await using session = await open();
    const id = await session.send("The river", PIECE);
    session.turns.compaction(compaction("started"));
    session.turns.compaction(compaction("committed"));
    await session.edit(id, "The river rises");
    assert.equal(session.seen(), "weirdo> The river rises\nana>");
    await session.edit(id, "The river rises.", true);
    assert.match(session.seen(), /^weirdo> The river rises\.\n\(120 older messages summarised/);
  });

  test("is what went wrong", async () => {
    await using session = await open();
    session.inbox.failures.push(new Error("the disk is full"));
    session.input.write("hm\r");
    await session.writes(/disk is full/);
    await session.send("Sorry, that failed.", { kind: "notice" });
    assert.match(
      session.seen().replaceAll("\n", ""),
      /it was not ?heard: the disk is fullweir> Sorry, that failed\.ana>$/,
    );
  });

  test("ends with its subscriptions and listeners", async () => {
    const session = await open();
    await session.platform[Symbol.asyncDispose]();
    assert.equal(session.turns.listeners, 0);
    assert.equal(session.output.listenerCount("resize"), 0);
  });
});

describe("a command typed into the interactive terminal", () => {
  test("is answered by a drawing where the answer is a card, above the line that is being typed", async () => {
    await using session = await open({ colour: true });
    session.inbox.onCommand = () => CARD;
    session.input.write("/context\rhalf a li");
    await session.writes(/system 640/);
    assert.ok(session.written().includes(`\u001B[33m${"█".repeat(30)}`));
    assert.match(session.seen(), /^ana> \/context\n#river-watch[^]*86 % of[^]*system 640\nana> half a li$/);
  });
});
